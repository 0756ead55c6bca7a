"""The regard side of `joeynmt.py`: each command does one thing with regard's own code and prints one line of JSON."""

import argparse
import hashlib
import json
import resource
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from joeynmt_names import as_joey
from torch import nn

from regard.config.read import read_settings
from regard.data.batches.pairs import Batch, Batches, Examples, make_batch
from regard.data.corpora.pair import Pair
from regard.data.text.special import END
from regard.data.text.tokenizer import TokenizerPair
from regard.decoding.search import Search
from regard.models.folder import save_model
from regard.models.sequence.build import Model, build_model, count_parameters
from regard.models.word_loss import word_loss
from regard.tasks.translation.job import TranslationJob
from regard.tasks.translation.model import load
from regard.tasks.translation.settings import Config
from regard.training.checkpoint import Checkpoints
from regard.training.group import Group
from regard.training.loop import Trainer
from regard.training.loss import Loss
from regard.training.streams import seed_streams
from regard.training.watch import Measured, Validated

Arguments, Found = argparse.Namespace, dict[str, Any]


def tokens(arguments: Arguments) -> Found:
    """Give a checksum of the token numbers of every training and test sentence."""
    tokenizers = _tokenizers(arguments)
    digest, count, longest = hashlib.sha256(), 0, 0
    for split in ("train", "test2016"):
        for pair in _pairs(arguments, split):
            for text in pair.source, pair.target:
                numbers = tokenizers.source.encode(text).ids
                digest.update(json.dumps(numbers).encode())
                count, longest = count + len(numbers), max(longest, len(numbers))
    return {"checksum": digest.hexdigest(), "tokens": count, "longest": longest}


class Enough(Exception):  # noqa: N818 (a way out of the loop, not an error)
    """All updates that were asked for are made."""


def train(arguments: Arguments) -> Found:
    """Time `updates` updates of the loop of `regard train`, after `warm_up` others: from making a batch to AdamW.

    With `out`, write the model then, and its parameters once more under Joey NMT's names.
    """
    config = _config(arguments)
    tokenizers = _tokenizers(arguments)
    group = Group(device=torch.device(arguments.device))
    job = CountedJob(_pairs(arguments, "train"), _pairs(arguments, "valid"), tokenizers, config.train, group=group)
    if arguments.batches:
        job.batches = GivenBatches(job.examples, Path(arguments.batches))  # type: ignore[assignment]
    seed_streams(arguments.seed)
    size = tokenizers.source.size
    model = build_model(config.model, source_vocabulary=size, target_vocabulary=size)
    parameters = count_parameters(model)
    if arguments.out:
        _start_from_frequencies(model, job)
    clock = Clock(arguments, job)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(model, job, config.train, checkpoints=Checkpoints(Path(folder)), watcher=clock)
        clock.trainer = trainer
        with suppress(Enough):
            trainer.train()
    if arguments.out:
        out = Path(arguments.out)
        save_model(model, config.model, out, source_vocabulary=size, target_vocabulary=size)
        tokenizers.save(out)
        torch.save(as_joey(model), out / "joey.ckpt")
    return {**clock.found(), "parameters": parameters}


@torch.no_grad()
def _start_from_frequencies(model: Model, job: "CountedJob") -> None:
    """Begin with the output's bias at the log-frequency of each token.

    Otherwise Adam's first steps drive every unit of the attentional vector to ±1, where tanh has no slope: the GRU, in
    Joey NMT as in regard, then spends hundreds of updates on getting out again.
    """
    counts = np.bincount(job.examples.target.values, minlength=model.output.out_features) + 1.0
    counts[END] += len(job.examples.target)
    model.output.bias.copy_(torch.from_numpy(np.log(counts / counts.sum())))


class CountedJob(TranslationJob):
    """The job of `regard train`, which also counts what its batches hold; on a GPU, where that is not reported, not."""

    cells = text = 1

    def __init__(self, train: list[Pair], valid: list[Pair], tokenizers: TokenizerPair, *rest: Any, group: Group):
        super().__init__(train, valid, tokenizers, *rest, group=group)
        self.examples = Examples(
            source=tokenizers.source.encode_batch(pair.source for pair in train),
            target=tokenizers.target.encode_batch(pair.target for pair in train),
        )

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        if not batch.source.is_cuda:
            self.cells = batch.source.numel() + batch.target_output.numel()
            self.text = int(batch.source_lengths.sum()) + batch.num_tokens
        return super().loss(model, batch)


class GivenBatches:
    """The batches that Joey NMT drew, sentence for sentence."""

    def __init__(self, examples: Examples, path: Path) -> None:
        self._examples, self._indices = examples, json.loads(path.read_text(encoding="utf-8"))

    def __iter__(self) -> Iterator[Batch]:
        for indices in self._indices:
            yield make_batch(self._examples, np.array(indices))

    def state(self) -> dict[str, int]:
        return {"epoch": 0, "batch": 0}

    def restore(self, state: Mapping[str, int]) -> None:
        """Stay at the start."""


class Clock:
    """Watches a run and counts what is between the end of the warm-up and the last update."""

    trainer: Trainer

    def __init__(self, arguments: Arguments, job: CountedJob) -> None:
        self.warm_up, self.last = arguments.warm_up, arguments.warm_up + arguments.updates
        self.job, self.cells, self.text = job, 0, 0

    def stepped(self, step: int) -> None:
        """Take the time after the warm-up and after the last update, which ends the run."""
        now = time.perf_counter(), time.process_time(), self.trainer.state.tokens
        if step > self.warm_up:
            self.cells, self.text = self.cells + self.job.cells, self.text + self.job.text
        if step == self.warm_up:
            self.begun = now
        if step == self.last:
            self.ended = now
            raise Enough

    def started(self, step: int, steps: int) -> None: ...
    def measured(self, measured: Measured) -> None:
        self.cross_entropy = measured.cross_entropy

    def validated(self, validated: Validated, *, best: bool) -> None: ...
    def noted(self, text: str) -> None: ...

    def found(self) -> Found:
        seconds, cpu_seconds, tokens = (end - begin for begin, end in zip(self.begun, self.ended, strict=True))
        times = {"seconds": seconds, "cpu_seconds": cpu_seconds, "tokens": tokens, "memory": _memory()}
        return {**times, "padding": 1 - self.text / self.cells}


def translate(arguments: Arguments) -> Found:
    """Time the search over the sentences of a file: all that `Translator.translate` does.

    The vocabulary is one of whole pieces, so an unknown one is left as it is, and not looked up in the source.
    """
    translator = load(arguments.model, unknown="keep", device=arguments.device)
    texts = Path(arguments.source).read_text(encoding="utf-8").splitlines()[: arguments.sentences]
    search = Search(beam=arguments.beam, length_penalty=1.0, min_length=1, max_length=100)
    translator.search(texts[:8] if arguments.device == "cpu" else texts, search)  # captures what it replays
    begun = time.perf_counter(), time.process_time()
    found = [best[0] for best in translator.search(texts, search)]
    ended = time.perf_counter(), time.process_time()
    return {
        "seconds": ended[0] - begun[0],
        "cpu_seconds": ended[1] - begun[1],
        "tokens": sum(len(one.target_tokens) for one in found),
        "texts": [" ".join(piece for piece in one.target_tokens if piece != "</s>") for one in found],
        "memory": _memory(),
    }


@torch.no_grad()
def score(arguments: Arguments) -> Found:
    """Give the cross-entropy of the test set, in nats a target token."""
    translator, pairs = load(arguments.model), _pairs(arguments, "test2016")
    examples = Examples(
        source=translator.tokenizers.source.encode_batch(pair.source for pair in pairs),
        target=translator.tokenizers.target.encode_batch(pair.target for pair in pairs),
    )
    total, count = 0.0, 0
    for batch in Batches(examples, tokens=2048, shuffle=False):
        read = translator.model.read(batch.source, batch.source_lengths, batch.target_input)
        total += float(word_loss(read.features, translator.model.output, batch.target_output).cross_entropy)
        count += batch.num_tokens
    return {"cross_entropy": total / count, "tokens": count}


def _config(arguments: Arguments) -> Config:
    """Read the settings; a model that is to translate soon learns in small steps, with little dropout."""
    table = json.loads(Path(arguments.config).read_text(encoding="utf-8"))
    soon: Found = {}
    if arguments.out:
        soon["model"] = {name: 0.1 for name in table["model"] if name.endswith("dropout")}
        soon["train"] = {"batch_tokens": 768, "schedule": {"rate": 2e-3, "warm_up": 200}}
    return read_settings(Config, table, {"train": {"seed": arguments.seed}}, soon)


def _tokenizers(arguments: Arguments) -> TokenizerPair:
    return TokenizerPair.load(Path(arguments.texts))


def _pairs(arguments: Arguments, split: str) -> list[Pair]:
    sides = ((Path(arguments.texts) / f"{split}.{one}").read_text(encoding="utf-8") for one in ("en", "de"))
    return [Pair(source=source, target=target) for source, target in zip(*map(str.splitlines, sides), strict=True)]


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["tokens", "train", "translate", "score"])
    for name in ("texts", "out", "config", "batches", "model", "source"):
        parser.add_argument(f"--{name}", default="")
    for name, value in (("warm-up", 1), ("updates", 1), ("seed", 1), ("beam", 5)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()
    print(json.dumps({**globals()[arguments.command](arguments), "torch": torch.__version__}))


if __name__ == "__main__":
    main()

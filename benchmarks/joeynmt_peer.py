"""The Joey NMT side of `joeynmt.py`: runs under a Python that has Joey NMT 2.3 and need not have regard.

Each command does one thing with Joey NMT's own code and prints one line of JSON.
"""

import argparse
import hashlib
import json
import logging
import lzma
import resource
import sys
import time
from pathlib import Path

import torch

del sys.path[0]  # this folder, whose joeynmt.py would be found in the package's place

REGARD_NUMBER = {0: 1, 1: 0}  # Joey NMT puts <unk> first and <pad> second, regard the other way round


def segment(arguments):
    """Divide words into the pieces of the given merges and vocabulary, as Joey NMT's tokenizer does."""
    from subword_nmt.apply_bpe import BPE

    data, out = Path(arguments.data), Path(arguments.out)
    vocabulary = read_compressed(data / "joint_vocab.txt.xz")
    with lzma.open(data / "bpe.codes.xz", "rt", encoding="utf-8") as codes:
        bpe = BPE(codes, vocab=set(vocabulary))
    (out / "vocabulary.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    for split in ("train", "valid", "test2016"):
        for language in ("en", "de"):
            lines = [bpe.process_line(line).strip() for line in read_compressed(data / f"{split}.{language}.xz")]
            (out / f"{split}.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {"vocabulary": len(vocabulary)}


def read_compressed(path):
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n") for line in lines]


def tokens(arguments):
    """Give a checksum of the token numbers of every training and test sentence, in regard's numbering."""
    from joeynmt.data import load_data

    vocabulary, _, train, _, test = load_data(cfg=parsed(arguments).data, datasets=["train", "test"])
    digest, count, longest = hashlib.sha256(), 0, 0
    for data in (train, test):
        for index in range(len(data)):
            for language in ("en", "de"):
                pieces = data.get_item(index, language)
                assert pieces is not None, "a sentence is left out"
                numbers = [vocabulary.lookup(piece) for piece in pieces]
                digest.update(json.dumps([REGARD_NUMBER.get(one, one) for one in numbers]).encode())
                count, longest = count + len(numbers), max(longest, len(numbers))
    return {"checksum": digest.hexdigest(), "tokens": count, "longest": longest}


class Enough(Exception):  # noqa: N818 (a way out of the loop, not an error)
    """All updates that were asked for are made."""


def train(arguments):
    """Time `updates` updates of Joey NMT's own loop, after `warm_up` others: from fetching a batch to AdamW."""
    from joeynmt.config import set_validation_args
    from joeynmt.prediction import prepare
    from joeynmt.training import TrainManager

    args = parsed(arguments)
    model, train_data, dev_data, _ = prepare(args, rank=0, mode="train")
    manager = TrainManager(
        rank=0,
        model=model,
        model_dir=args.model_dir,
        device=args.device,
        autocast=args.autocast,
        seed=arguments.seed,
        train_args=args.train,
        dev_args=set_validation_args(args.test),
    )
    manager._save_checkpoint = lambda *_: None  # written when the loop is left: not part of an update
    clock, step = Clock(arguments.warm_up, arguments.updates), manager._train_step
    batches = []

    def timed(batch):
        # Called when update k + 1 has its batch: k updates are made, and k + 1 batches fetched.
        clock.tick()
        batches.append(batch.indices.tolist())
        clock.count(batch.ntokens, batch.src.numel() + batch.trg.numel(), batch.ntokens + int(batch.src_length.sum()))
        return step(batch)

    manager._train_step = timed
    try:
        manager.train_and_validate(train_data=train_data, valid_data=dev_data)
    except Enough:
        Path(arguments.batches).write_text(json.dumps(batches), encoding="utf-8")
    return {**clock.found(), "parameters": sum(one.numel() for one in model.parameters())}


class Clock:
    """Counts what is between the end of the warm-up and the last update."""

    def __init__(self, warm_up, updates):
        self.warm_up, self.last, self.made = warm_up, warm_up + updates, -1
        self.tokens = self.cells = self.text = 0

    def tick(self):
        self.made += 1
        if self.made == self.warm_up:
            self.begun = time.perf_counter(), time.process_time()
        if self.made == self.last:
            self.ended = time.perf_counter(), time.process_time()
            raise Enough

    def count(self, tokens, cells, text):
        if self.made >= self.warm_up:
            self.tokens, self.cells, self.text = self.tokens + tokens, self.cells + cells, self.text + text

    def found(self):
        return {
            "seconds": self.ended[0] - self.begun[0],
            "cpu_seconds": self.ended[1] - self.begun[1],
            "tokens": self.tokens,
            "padding": 1 - self.text / self.cells,
            "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }


def translate(arguments):
    """Time the search over the sentences of a file, as `joeynmt translate < file` makes it."""
    from joeynmt.prediction import predict

    args, model, stream = loaded(arguments, "stream")
    args = args._replace(test=args.test._replace(batch_size=arguments.batch, beam_size=arguments.beam))
    lines = Path(arguments.source).read_text(encoding="utf-8").splitlines()[: arguments.sentences]

    def search(some):
        stream.reset_cache()
        for line in some:
            stream.set_item(line)
        return predict(
            model=model,
            data=stream,
            device=args.device,
            n_gpu=int(args.device.type == "cuda"),
            normalization="none",
            args=args.test,
            autocast=args.autocast,
        )

    search(lines[:8] if args.device.type == "cpu" else lines)
    begun = time.perf_counter(), time.process_time()
    _, _, _, pieces, _, _ = search(lines)
    ended = time.perf_counter(), time.process_time()
    return {
        "seconds": ended[0] - begun[0],
        "cpu_seconds": ended[1] - begun[1],
        "tokens": sum(map(len, pieces)),
        "texts": [" ".join(one for one in line if one not in ("<pad>", "</s>")) for line in pieces],
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def score(arguments):
    """Give the cross-entropy of the test set, in nats a target token."""
    args, model, data = loaded(arguments, "test")
    model.loss_function = ("crossentropy", 0.0)
    total = tokens = 0
    with torch.no_grad():
        ends = {"eos_index": model.eos_index, "pad_index": model.pad_index}
        for batch in data.make_iter(batch_size=64, device=args.device, **ends):
            batch.sort_by_src_length()
            loss, _, _, _ = model(return_type="loss", **vars(batch))
            total, tokens = total + loss.item(), tokens + batch.ntokens
    return {"cross_entropy": total / tokens, "tokens": tokens}


def loaded(arguments, dataset):
    """Give settings, model with the parameters of a checkpoint, and a data set."""
    from joeynmt.data import load_data
    from joeynmt.model import build_model

    args = parsed(arguments)
    source, target, _, _, data = load_data(cfg=args.data, datasets=[dataset])
    model = build_model(args.model, src_vocab=source, trg_vocab=target)
    parameters = torch.load(arguments.checkpoint, map_location="cpu")
    # Joey NMT's output has no bias of its own; with one it computes what regard does, at the same speed.
    model.decoder.output_layer.bias = torch.nn.Parameter(parameters["decoder.output_layer.bias"])
    missing, unknown = model.load_state_dict(parameters, strict=False)
    assert not unknown, unknown
    assert all(name.endswith(".pe") for name in missing), missing
    return args, model.eval().to(args.device), data


def parsed(arguments):
    from joeynmt.config import load_config, parse_global_args

    settings = load_config(arguments.config)
    Path(settings["model_dir"]).mkdir(parents=True, exist_ok=True)
    torch.manual_seed(arguments.seed)
    return parse_global_args(settings, rank=0, mode="train")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["segment", "tokens", "train", "translate", "score"])
    for name in ("data", "out", "config", "batches", "checkpoint", "source"):
        parser.add_argument(f"--{name}", default="")
    for name, value in (("warm-up", 1), ("updates", 1), ("seed", 1), ("beam", 5), ("batch", 64), ("sentences", 1000)):
        parser.add_argument(f"--{name}", type=int, default=value)
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    versions = {"torch": torch.__version__}
    print(json.dumps({**globals()[arguments.command](arguments), **versions}))


if __name__ == "__main__":
    main()

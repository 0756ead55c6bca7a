"""Train a language model: from a text and settings to a model folder, a card and a report."""

import json
import shutil
import time
from typing import Any, NamedTuple

import numpy as np
import torch

from regard import __version__
from regard.config.language import BagSpec, LanguageConfig, NetworkSpec, NGramSpec
from regard.config.show import show_settings
from regard.data.text_tokenizer import TextTokenizer, train_text_tokenizer
from regard.data.token_stream import TokenStream
from regard.evaluation.language import Surprise
from regard.models.build import count_parameters
from regard.models.initialize import start_from_counts
from regard.models.language.build import build_network, count_text
from regard.models.language.folder import AnyLanguageModel, save_language_model
from regard.models.language.network import LanguageNetwork
from regard.tasks.card import GENERATE, Card, write_card
from regard.tasks.language_job import VALID_LANES, LanguageJob, TextMeasure
from regard.tasks.language_signature import describe_language
from regard.tasks.report_page import make_page
from regard.tasks.run_folder import RunFolder
from regard.tasks.text_corpus import Count, Text, TextCorpus, count_tokens, counted, encode_text
from regard.training.checkpoint import flush, write_text
from regard.training.failure import needing_room
from regard.training.group import Group
from regard.training.interruption import Interruption
from regard.training.loop import Trainer
from regard.training.streams import seed_streams
from regard.training.watch import MetricsFile, TensorBoard, Watcher, Watchers, read_metrics


class TrainedLanguage(NamedTuple):
    """What a run gave."""

    folder: RunFolder
    figures: dict[str, float]
    tokenization: str
    signature: str


class Encoded(NamedTuple):
    """A corpus in tokens."""

    tokenizer: TextTokenizer
    train: np.ndarray[Any, np.dtype[np.int32]]
    valid: TextMeasure
    test: TextMeasure | None


def train_language_model(
    config: LanguageConfig,
    corpus: TextCorpus,
    folder: RunFolder,
    *,
    command: str,
    watcher: Watcher,
    group: Group | None = None,
    interruption: Interruption | None = None,
    count: Count | None = None,
) -> TrainedLanguage:
    """Train, or go on, and write the model folder, its card and the report. A finished run gives its figures again.

    `count` is told how many lines of the text have been looked at before training begins.
    """
    group = group or Group()
    signature = describe_language(config)
    path = folder.model / "figures.json"
    if path.is_file():
        watcher.noted(f"The run in {folder.path} is finished; these are its figures.")
        found = json.loads(path.read_text(encoding="utf-8"))
        return TrainedLanguage(folder, found["figures"], found["tokenization"], signature)
    for note in corpus.notes:
        watcher.noted(note)
    data = encode_corpus(config, corpus, folder, group=group, count=count)
    model, spent = _fit(config, data, folder, watcher=watcher, group=group, interruption=interruption)
    if not group.leads:
        return TrainedLanguage(folder, {}, "", signature)
    figures = _measure(config, model, data) | spent
    with needing_room(folder.path):
        _write(config, corpus, folder, model, data, figures, command)
    return TrainedLanguage(folder, figures, data.valid.tokenization, signature)


def encode_corpus(
    config: LanguageConfig, corpus: TextCorpus, folder: RunFolder, *, group: Group, count: Count | None = None
) -> Encoded:
    """Learn the vocabulary, and turn the texts into tokens, those of training in a file."""
    kept = folder.data / "tokenizer.json"
    if group.leads and not kept.is_file():
        folder.data.mkdir(parents=True, exist_ok=True)
        lines = counted(corpus.train, "learning the vocabulary", count)
        write_text(kept, train_text_tokenizer(lines, config.tokenizer).to_json())
    file = TokenStream(folder.data / "train.tokens")
    if group.leads:
        lines = counted(corpus.train, "encoding the text", count)
        encode_text(lines, TextTokenizer.load(folder.data), file=file, mark=corpus.fingerprint)
    group.share_text("encoded")  # the others wait for it here
    tokenizer = TextTokenizer.load(folder.data)

    def measure(text: Text) -> TextMeasure:
        return TextMeasure(text, encode_text(text, tokenizer), tokenizer)

    return Encoded(
        tokenizer,
        encode_text(corpus.train, tokenizer, file=file, mark=corpus.fingerprint),
        measure(corpus.valid),
        measure(corpus.test) if corpus.test else None,
    )


def start_network(spec: NetworkSpec, data: Encoded, *, seed: int) -> LanguageNetwork:
    """Build a network that, before it is trained, says every token as often as the text has it."""
    seed_streams(seed)
    model = build_network(spec, vocabulary_size=data.tokenizer.size)
    start_from_counts(model.output, torch.from_numpy(count_tokens(data.train, data.tokenizer.size)))
    return model


def _fit(
    config: LanguageConfig,
    data: Encoded,
    folder: RunFolder,
    *,
    watcher: Watcher,
    group: Group,
    interruption: Interruption | None,
) -> tuple[AnyLanguageModel, dict[str, float]]:
    """Count, or train by gradients."""
    begun, spec, size = time.perf_counter(), config.model, data.tokenizer.size
    if isinstance(spec, BagSpec | NGramSpec):
        watcher.noted(f"counting {len(data.train) - 1:,} tokens")
        model = count_text(spec, data.train, vocabulary_size=size)
        return model, {"tokens": len(data.train) - 1, "seconds": time.perf_counter() - begun}
    network = start_network(spec, data, seed=config.train.seed)
    files: list[Watcher] = [MetricsFile(folder.metrics)]
    if config.train.tensorboard:
        files.append(TensorBoard(folder.path / "tensorboard"))
    trainer = Trainer(
        network,
        LanguageJob(data.train, data.valid, data.tokenizer, config, carries=network.carries, group=group),
        config.train,
        checkpoints=folder.checkpoints,
        watcher=Watchers([*files, watcher]) if group.leads else Watchers(),
        group=group,
        interruption=interruption,
        shorter="shorter stretches of text (data.length)",
    )
    state = trainer.train()
    network.eval()
    spent = {"parameters": count_parameters(network), "steps": state.step, "tokens": state.tokens}
    return network, spent | {"seconds": state.seconds}


def _measure(config: LanguageConfig, model: AnyLanguageModel, data: Encoded) -> dict[str, float]:
    """Measure the result on the validation text, and on the test text in one lane, where there is one."""
    sides: dict[str, Surprise] = {}
    length, stride = config.data.length, config.data.stride
    sides["valid"] = data.valid.measure(model, length=length, stride=stride, lanes=VALID_LANES)
    if data.test is not None:
        sides["test"] = data.test.measure(model, length=length, stride=stride)
    return {f"{side}_{name}": value for side, found in sides.items() for name, value in found.figures().items()}


def _write(
    config: LanguageConfig,
    corpus: TextCorpus,
    folder: RunFolder,
    model: AnyLanguageModel,
    data: Encoded,
    figures: dict[str, float],
    command: str,
) -> None:
    """Write the model folder aside and put it in place when it is whole; then the report."""
    signature, tokenization = describe_language(config), data.valid.tokenization
    aside = folder.path / ".model-writing"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    save_language_model(model, config.model, aside, length=config.data.length)
    data.tokenizer.save(aside)
    told = {
        name.replace("_", " "): f"{value:,.4g}" if value < 1e4 else f"{value:,.0f}" for name, value in figures.items()
    }
    size = f"{count_parameters(model):,} parameters" if isinstance(model, LanguageNetwork) else "counts"
    card = Card(
        title=f"Language model trained on {config.data.text}",
        summary=f"A {config.model.kind} model of {size}, trained with regard {__version__}. Tokens: {tokenization}.",
        data=f"{len(data.train) - 1:,} tokens to train on, {len(data.valid.tokens) - 1:,} to validate on.",
        license=config.data.license,
        figures=told,
        command=command,
        signature=signature,
        folder=str(folder.model),
        use=GENERATE,
    )
    (aside / "README.md").write_text(write_card(card), encoding="utf-8")
    (aside / "figures.json").write_text(json.dumps({"figures": figures, "tokenization": tokenization}))
    for path in aside.iterdir():
        flush(path)
    page = make_page(
        title=card.title,
        figures={"data": card.data, "tokens are": tokenization, **told},
        metrics=read_metrics(folder.metrics),
        config=show_settings(config, help=False),
        command=command,
        signature=signature,
        samples="Continuations",
    )
    write_text(folder.report, page)
    shutil.rmtree(folder.data, ignore_errors=True)  # it can be made again, and is large
    shutil.rmtree(folder.model, ignore_errors=True)
    aside.rename(folder.model)  # last: a folder named model is a finished run
    flush(folder.path)

"""Train a language model: from a text and settings to a model folder, a card and a report."""

import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from regard import __version__
from regard.config.language import BagSpec, NetworkSpec, NGramSpec
from regard.config.show import show_settings
from regard.data.corpora.catalogue import languages_of, license_of
from regard.data.corpora.token_stream import TokenStream
from regard.data.text.text_tokenizer import TextTokenizer, train_text_tokenizer
from regard.errors import with_article
from regard.evaluation.language import Surprise
from regard.files import write_text
from regard.models.initialize import start_from_counts
from regard.models.language.build import build_network, count_text
from regard.models.language.folder import AnyLanguageModel, save_language_model
from regard.models.language.network import LanguageNetwork
from regard.models.sequence.build import count_parameters
from regard.tasks.card import GENERATE, Card, write_card
from regard.tasks.language.data import Count, Text, TextCorpus, count_tokens, counted, encode_text
from regard.tasks.language.job import VALID_LANES, LanguageJob, TextMeasure
from regard.tasks.language.settings import LanguageConfig
from regard.tasks.language.signature import describe_language
from regard.tasks.page import Report
from regard.tasks.start import fill_from, find_start
from regard.tasks.translation.page import make_page
from regard.training.group import Group
from regard.training.metrics import read_metrics
from regard.training.run import Run, Trained
from regard.training.run_folder import RunFolder
from regard.training.streams import seed_streams


class Encoded(NamedTuple):
    """A corpus in tokens."""

    tokenizer: TextTokenizer
    train: NDArray[np.int32]
    valid: TextMeasure
    test: TextMeasure | None
    counts: NDArray[np.int64]
    """How often each token comes in the training text."""


def train_language_model(
    config: LanguageConfig, corpus: TextCorpus, run: Run, *, count: Count | None = None
) -> Trained:
    """Train, or go on, and write the model folder, its card and the report. A finished run gives its figures again.

    `count` receives how many lines of the text have been read before training begins.
    """
    signature = describe_language(config)
    if (result := run.figures_again()) is not None:
        return Trained(run.folder, result.get("figures", {}), signature, result.get("tokenization", ""))
    for note in corpus.notes:
        run.watcher.noted(note)
    start = find_start(config, "language", run)
    data = encode_corpus(config, corpus, run.folder, group=run.group, count=count, start=start)
    fitted = _fit(config, data, run, start)
    if not run.group.leads:
        return Trained(run.folder, {}, signature)
    tokenization = data.valid.tokenization
    run.put_model(partial(_save, config, fitted.model, data))
    figures = run.finish(
        lambda: _measure(config, fitted, data),
        figures=lambda figures: {"figures": figures, "tokenization": tokenization},
        page=lambda figures: _page(config, run, data, figures),
        card=lambda figures: _card(config, run, fitted.model, data, figures),
        job=fitted.job,
    )
    return Trained(run.folder, figures, signature, tokenization)


def _save(config: LanguageConfig, model: AnyLanguageModel, data: Encoded, folder: Path) -> None:
    save_language_model(model, config.model, folder, length=config.data.length)
    data.tokenizer.save(folder)


def encode_corpus(
    config: LanguageConfig,
    corpus: TextCorpus,
    folder: RunFolder,
    *,
    group: Group,
    count: Count | None = None,
    start: Path | None = None,
) -> Encoded:
    """Learn the vocabulary, or take that of the model in `start`, and turn the texts into tokens."""
    kept = folder.data / "tokenizer.json"
    before = TextTokenizer.load(start) if start is not None else None
    if group.leads and not kept.is_file():
        folder.data.mkdir(parents=True, exist_ok=True)
        lines = counted(corpus.train, "learning the vocabulary", count)
        # Every token of another model's vocabulary may be learned here, also those that its own text lacked.
        whole = before.with_counts(np.ones(before.size, dtype=np.int64)) if before is not None else None
        write_text(kept, (whole or train_text_tokenizer(lines, config.tokenizer)).to_json())
    file = TokenStream(folder.data / "train.tokens")
    if group.leads:
        lines = counted(corpus.train, "encoding the text", count)
        encode_text(lines, TextTokenizer.load(folder.data), file=file, mark=corpus.fingerprint)
    group.share_text("encoded")  # the others wait for it here
    tokenizer = TextTokenizer.load(folder.data)
    train = encode_text(corpus.train, tokenizer, file=file, mark=corpus.fingerprint)
    counts = count_tokens(train, tokenizer.size)
    trained_counts = counts.copy()
    if before is not None:
        trained_counts[np.setdiff1d(np.arange(before.size), before.unseen)] += 1
    tokenizer = tokenizer.with_counts(trained_counts)

    def measure(text: Text) -> TextMeasure:
        return TextMeasure(text, encode_text(text, tokenizer), tokenizer)

    test = measure(corpus.test) if corpus.test else None
    return Encoded(tokenizer, train, measure(corpus.valid), test, counts)


def start_network(spec: NetworkSpec, data: Encoded, *, seed: int) -> LanguageNetwork:
    """Build a network that, before it is trained, predicts every token as often as the text has it."""
    seed_streams(seed)
    model = build_network(spec, vocabulary_size=data.tokenizer.size)
    start_from_counts(model.output, torch.from_numpy(data.counts))
    return model


class _Fitted(NamedTuple):
    model: AnyLanguageModel
    spent: dict[str, float]
    """Parameters, steps, tokens and seconds."""
    job: LanguageJob | None = None
    """None where there are no steps: a model that counts."""


def _fit(config: LanguageConfig, data: Encoded, run: Run, start: Path | None) -> _Fitted:
    """Count, or train by gradients, from the parameters of the model in `start` where there is one."""
    begun, spec, size = time.perf_counter(), config.model, data.tokenizer.size
    if isinstance(spec, BagSpec | NGramSpec):
        run.watcher.noted(f"counting {len(data.train) - 1:,} tokens")
        model = count_text(spec, data.train, vocabulary_size=size)
        return _Fitted(model, {"tokens": len(data.train) - 1, "seconds": time.perf_counter() - begun})
    network = start_network(spec, data, seed=config.train.seed)
    if start is not None:
        fill_from(network, start)
    job = LanguageJob(data.train, data.valid, data.tokenizer, config, carries=network.carries, group=run.group)
    shorter, save = "shorter stretches of text (data.length)", partial(_save, config, network, data)
    state = run.train(network, job, config.train, shorter=shorter, save=save)
    spent = {"parameters": count_parameters(network), "steps": state.step, "tokens": state.tokens}
    return _Fitted(network, spent | {"seconds": state.seconds}, job)


def _measure(config: LanguageConfig, fitted: _Fitted, data: Encoded) -> dict[str, float]:
    """Measure the result on the validation text, and on the test text in one lane, where there is one."""
    sides: dict[str, Surprise] = {}
    length, stride, rows = config.data.length, config.data.stride, fitted.job.at_once if fitted.job else None
    sides["valid"] = data.valid.measure(fitted.model, length=length, stride=stride, lanes=VALID_LANES, rows=rows)
    if data.test is not None:
        sides["test"] = data.test.measure(fitted.model, length=length, stride=stride, rows=rows)
    figures = {f"{side}_{name}": value for side, result in sides.items() for name, value in result.figures().items()}
    return figures | fitted.spent


def _named(figures: dict[str, float]) -> dict[str, str]:
    """Name the figures for people."""
    return {
        name.replace("_", " "): f"{value:,.4g}" if value < 1e4 else f"{value:,.0f}" for name, value in figures.items()
    }


def _sizes(data: Encoded) -> str:
    return f"{len(data.train) - 1:,} tokens to train on, {len(data.valid.tokens) - 1:,} to validate on."


def _page(config: LanguageConfig, run: Run, data: Encoded, figures: dict[str, float]) -> str:
    report = Report(
        title=f"Language model trained on {config.data.name}",
        signature=describe_language(config),
        figures={"data": _sizes(data), "tokens are": data.valid.tokenization, **_named(figures)},
        command=run.command,
        config=show_settings(config, help=False),
    )
    return make_page(report, read_metrics(run.folder.metrics), samples="Continuations")


def _card(config: LanguageConfig, run: Run, model: AnyLanguageModel, data: Encoded, figures: dict[str, float]) -> str:
    size = f"{count_parameters(model):,} parameters" if isinstance(model, LanguageNetwork) else "counts"
    card = Card(
        title=f"Language model trained on {config.data.name}",
        summary=f"{with_article(config.model.kind).capitalize()} model of {size}, trained with regard {__version__}. "
        f"Tokens: {data.valid.tokenization}.",
        data=_sizes(data),
        license=license_of(config.data.text, config.data.license),
        figures=_named(figures),
        command=run.command,
        signature=describe_language(config),
        folder=str(run.folder.model),
        use=GENERATE,
        checksum=run.folder.fingerprint(),
        languages=languages_of(config.data.languages, config.data.text),
    )
    return write_card(card)

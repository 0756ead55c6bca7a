"""Whole training steps, forward to optimizer, beside the same models as a user would write them in torch."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import nn

from regard.bench.measure import Work, measure
from regard.bench.plain_models import PlainLanguage, PlainRecurrent, PlainTransformer
from regard.config.attention import AdditiveSpec
from regard.config.language import TransformerLanguageSpec
from regard.config.model import RecurrentSpec, TransformerSpec
from regard.config.train import Train
from regard.data.batches.pairs import Batch
from regard.data.batches.text import TextBatch
from regard.models.language.build import build_network
from regard.models.language.network import LanguageNetwork
from regard.models.sequence.build import Model, build_model
from regard.models.word_loss import word_loss
from regard.tasks.translation.job import translation_loss
from regard.tasks.translation.settings import TranslationTrain
from regard.training.group import Group
from regard.training.loss import Loss
from regard.training.precision import autocast, find_precision, matrix_products
from regard.training.state import State
from regard.training.update import Updater
from regard.training.watch import Validated, Watchers


@dataclass(frozen=True, kw_only=True)
class Case:
    """A model of ours, the same in plain torch, and a batch for both."""

    name: str
    sizes: str
    """In words."""
    batch: Batch | TextBatch
    ours: Callable[[], nn.Module]
    plain: Callable[[], nn.Module]
    loss: Callable[[nn.Module, Batch | TextBatch], Loss]
    with_r_drop: Callable[[nn.Module, Batch | TextBatch], Loss] | None = None
    """The same with R-Drop, where the model is one that has it."""
    operations: float = 0.0
    """Multiplications and additions of a step, where they are counted."""


class Row(NamedTuple):
    """What a contender took; the ratio is against the plain model run eagerly, above one is quicker."""

    case: str
    sizes: str
    contender: str
    milliseconds: float
    tokens_per_second: float
    ratio: float
    utilization: float | None = None
    """The share of what one large matrix product reaches, where operations are counted."""


def cases(*, quick: bool = False, large: bool = False) -> Iterator[Case]:
    """Give a translating Transformer, a recurrent translator with additive attention, and a character model.

    `large` adds a language model of 12 × 768.
    """
    vocabulary, rows, length = (500, 8, 12) if quick else (8000, 128, 32)
    pairs = _pairs(rows, length, vocabulary)
    spec = TransformerSpec(
        size=32 if quick else 128, num_encoder_layers=4, num_decoder_layers=4, num_heads=4, feed_forward_size=256
    )
    yield Case(
        name="Transformer, translation",
        sizes=f"4 + 4 × {spec.size}, {rows} × {length} tokens",
        batch=pairs,
        ours=lambda: build_model(spec, source_vocabulary=vocabulary, target_vocabulary=vocabulary),
        plain=lambda: PlainTransformer(spec, vocabulary),
        loss=_translation,
        with_r_drop=partial(_translation, r_drop=5.0),
    )
    recurrent = RecurrentSpec(
        embedding_size=32 if quick else 256,
        hidden_size=64 if quick else 512,
        attention=AdditiveSpec(hidden_size=64 if quick else 512),
        output="linear",
    )
    yield Case(
        name="GRU with additive attention",
        sizes=f"{recurrent.embedding_size}/{recurrent.hidden_size}, {rows} × {length} tokens",
        batch=pairs,
        ours=lambda: build_model(recurrent, source_vocabulary=vocabulary, target_vocabulary=vocabulary),
        plain=lambda: PlainRecurrent(recurrent.embedding_size, recurrent.hidden_size, vocabulary),
        loss=_translation,
    )
    language = TransformerLanguageSpec(
        size=48 if quick else 384,
        num_layers=2 if quick else 6,
        num_heads=6,
        feed_forward_size=192 if quick else 1536,
        position="learned",
        context=32 if quick else 256,
    )
    yield _language_case("Transformer, characters", language, rows=8 if quick else 64, vocabulary=65)
    if large:
        wide = TransformerLanguageSpec(
            size=768, num_layers=12, num_heads=12, feed_forward_size=3072, position="learned", context=1024, dropout=0.0
        )
        yield _language_case("Transformer, subwords", wide, rows=16, vocabulary=32_768)


def _language_case(name: str, spec: TransformerLanguageSpec, *, rows: int, vocabulary: int) -> Case:
    """Count operations as is usual: six for each matrix element and token, and scores and contexts, half of them."""
    matrices = spec.num_layers * (4 * spec.size**2 + 2 * spec.size * spec.feed_forward_size) + spec.size * vocabulary
    return Case(
        name=name,
        sizes=f"{spec.num_layers} × {spec.size}, {rows} × {spec.context} tokens",
        batch=_text(rows, spec.context, vocabulary),
        ours=lambda: build_network(spec, vocabulary_size=vocabulary),
        plain=lambda: PlainLanguage(spec, vocabulary),
        loss=_language,
        operations=rows * spec.context * 6 * (matrices + spec.num_layers * spec.context * spec.size),
    )


def run(case: Case, *, device: torch.device, rounds: int, compiled: bool = False) -> list[Row]:
    """Time a step of each contender, in turns; `compiled` adds the plain model under torch.compile."""
    settings = Train(precision="auto", graphs=True)
    works = {"plain torch": _plain_step(case, device, compiled=False)}
    if compiled:
        works["plain torch, torch.compile"] = _plain_step(case, device, compiled=True)
    works["regard"] = _our_step(case, case.loss, settings, device)
    if case.with_r_drop is not None:
        works["regard, R-Drop"] = _our_step(case, case.with_r_drop, settings, device)
    if device.type == "cuda":
        works["regard, train.graphs=false"] = _our_step(case, case.loss, replace(settings, graphs=False), device)
    for work in works.values():  # shapes are captured when they come again, and torch.compile is quick the third time
        for _ in range(3):
            work()
    with matrix_products("tf32" if device.type == "cuda" else "fp32"):
        result = measure(works, rounds=rounds, device=device)
    first, tokens = result["plain torch"].milliseconds, case.batch.num_tokens
    highest = highest_rate(device) if case.operations else 0.0
    return [
        Row(
            case.name,
            case.sizes,
            name,
            item.milliseconds,
            tokens / item.milliseconds * 1e3,
            first / item.milliseconds,
            case.operations / (item.milliseconds / 1e3) / highest if highest else None,
        )
        for name, item in result.items()
    ]


def highest_rate(device: torch.device) -> float:
    """Measure how many operations a second one large matrix product reaches, in the precision of training."""
    size = 8192 if device.type == "cuda" else 1024
    dtype = torch.bfloat16 if find_precision("auto", device) == "bf16" else torch.float32
    left, right = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    product = measure({"product": lambda: left @ right}, rounds=10, device=device)["product"]
    return 2 * size**3 / (product.milliseconds / 1e3)


class _OneBatch:
    """A job for the updater: its batches are given to each call."""

    def __init__(self, loss: Callable[[nn.Module, Batch | TextBatch], Loss]) -> None:
        self.loss = loss
        self.batches: Any = ()

    def validate(self, model: nn.Module) -> Validated:
        raise AssertionError(f"{type(model).__name__} is timed, not validated")


def _our_step(
    case: Case, loss: Callable[[nn.Module, Batch | TextBatch], Loss], settings: Train, device: torch.device
) -> Work:
    torch.manual_seed(0)
    model = case.ours().to(device).train()
    job, state = _OneBatch(loss), State()
    settings = replace(settings, precision=find_precision(settings.precision, device))
    updater = Updater(model, job, settings, group=Group(device=device), watcher=Watchers(()))

    def work() -> None:
        updater.update([case.batch], state)
        if not updater.deferred:
            updater.finished(state)

    return work


def _plain_step(case: Case, device: torch.device, *, compiled: bool) -> Work:
    torch.manual_seed(0)
    model = case.plain().to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    batch = case.batch.to(device)
    precision = find_precision("auto", device)
    forward = torch.compile(model) if compiled else model

    def work() -> None:
        optimizer.zero_grad(set_to_none=True)
        with autocast(precision, device):
            loss = forward(batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return work


def _translation(model: nn.Module, batch: Batch | TextBatch, *, r_drop: float = 0.0) -> Loss:
    assert isinstance(model, Model)
    assert isinstance(batch, Batch)
    return translation_loss(model, batch, TranslationTrain(label_smoothing=0.1, r_drop=r_drop))


def _language(model: nn.Module, batch: Batch | TextBatch) -> Loss:
    """Sum the loss of a language model, as `tasks.language.job` does."""
    assert isinstance(model, LanguageNetwork)
    assert isinstance(batch, TextBatch)
    return Loss(*word_loss(model(batch.tokens).features, model.output, batch.target))


def _pairs(rows: int, length: int, vocabulary: int) -> Batch:
    random = torch.Generator().manual_seed(0)
    lengths = torch.randint(length // 2, length + 1, (rows,), generator=random)
    lengths[0] = length
    source, target = (torch.randint(5, vocabulary, (rows, length), generator=random) for _ in range(2))
    padding = torch.arange(length) >= lengths[:, None]
    source, target = source.masked_fill(padding, 0), target.masked_fill(padding, 0)
    return Batch(source, lengths, target.roll(1, 1), target, lengths, torch.arange(rows))


def _text(rows: int, length: int, vocabulary: int) -> TextBatch:
    tokens = torch.randint(1, vocabulary, (rows, length + 1), generator=torch.Generator().manual_seed(0))
    return TextBatch(tokens[:, :-1], tokens[:, 1:], torch.arange(rows), 0)

"""How surprised a language model is by a text, and in which unit that is measured."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from regard.errors import ArgumentError, DataError
from regard.models.language.build import CountingModel
from regard.models.language.folder import AnyLanguageModel
from regard.models.language.network import LanguageNetwork
from regard.models.word_loss import word_loss

CELLS = 1 << 15
"""Tokens that a network reads at once."""
_PORTION = 1 << 18
"""Tokens that are counted up at once."""
Count: TypeAlias = Callable[[int], None]


@dataclass(frozen=True, kw_only=True)
class Surprise:
    """What a text cost. Per token it depends on the tokenizer; per character and byte it can be compared.

    That is so as long as no token is unknown: a model need not spell what it may call `<unk>`. Characters and bytes are
    those that the tokens write: what they drop of the text, such as a second space or its case, is neither predicted
    nor counted, and models can be compared only where the same is dropped.
    """

    nats: float
    """The sum of -log p over all tokens."""
    tokens: int
    characters: int
    """Of what the tokens write, line breaks included."""
    bytes: int
    """Of that in UTF-8."""
    unknown: int
    """Tokens that are not in the vocabulary."""
    altered: int = 0
    """Lines that the tokens write otherwise than the text."""
    tokenization: str
    """What a token is, such as bpe of 8,000."""

    @property
    def loss(self) -> float:
        """Nats per token."""
        return self.nats / self.tokens

    @property
    def perplexity(self) -> float:
        """Per token: among how many equally likely ones the model chooses."""
        return math.exp(min(self.loss, 700.0))

    @property
    def bits_per_character(self) -> float:
        """How many bits a character would take, if the text were compressed by the model."""
        return self.nats / math.log(2) / self.characters

    @property
    def bits_per_byte(self) -> float:
        """The same, for a byte."""
        return self.nats / math.log(2) / self.bytes

    @classmethod
    def total(cls, several: Sequence["Surprise"]) -> "Surprise":
        """Add up what several texts cost, measured in the same tokens."""
        if len({item.tokenization for item in several}) != 1:
            tokenizations = ", ".join(sorted({item.tokenization for item in several})) or "none"
            raise ArgumentError(f"`several` must be measured in the same tokens; received {tokenizations}.")
        return cls(
            nats=math.fsum(item.nats for item in several),
            tokens=sum(item.tokens for item in several),
            characters=sum(item.characters for item in several),
            bytes=sum(item.bytes for item in several),
            unknown=sum(item.unknown for item in several),
            altered=sum(item.altered for item in several),
            tokenization=several[0].tokenization,
        )

    def figures(self) -> dict[str, float]:
        """Name them all."""
        names = ["loss", "perplexity", "bits_per_character", "bits_per_byte"]
        names += ["tokens", "unknown", "characters", "altered"]
        return {name: float(getattr(self, name)) for name in names}


def total_surprise(
    model: AnyLanguageModel,
    tokens: NDArray[np.integer],
    *,
    length: int = 128,
    stride: int = 0,
    lanes: int = 1,
    rows: int | None = None,
    count: Count | None = None,
) -> float:
    r"""Sum $-\log p(y_t \mid y_{<t})$ over all tokens but the first, in nats.

    - Models that carry a state read the text from beginning to end, `length` tokens at a time; in `lanes` side by side
      it is quicker, and each lane begins from nothing.
    - Those that do not read windows of `length` tokens, each `stride` after the one before. Only what is new in a
      window counts, so that with a small stride every token has seen at least length - stride before it. 0 is the
      whole window: quickest, and the first tokens of each have seen little.

    At most `rows` lanes or windows are read at once, which needs less memory; by default, all lanes, or
    windows of `CELLS` tokens together. `count` receives how many tokens have been read.
    """
    if len(tokens) < 2:
        raise DataError(f"The text must have at least two tokens, of which the first is given; received {len(tokens)}.")
    if not isinstance(model, LanguageNetwork):
        return _by_counts(model, tokens, count or _nobody)
    if length < 1 or not 0 <= stride <= length:
        raise ArgumentError(f"`stride` must be from 0 to `length`, {length}; received {stride}.")
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            if model.carries:
                return _by_lanes(model, tokens, length, lanes=lanes, rows=rows or lanes, count=count or _nobody)
            rows = rows or max(1, CELLS // length)
            return _by_windows(model, tokens, length, stride=stride or length, rows=rows, count=count or _nobody)
    finally:
        model.train(training)


def _nobody(tokens: int) -> None:
    """Count nothing."""


def _by_counts(model: CountingModel, tokens: NDArray[np.integer], count: Count) -> float:
    """Read a portion at a time, each after the last words of the one before."""
    total = 0.0
    for first in range(1, len(tokens), _PORTION):
        start = max(0, first - model.context)
        last = min(first + _PORTION, len(tokens))
        total -= float(model.log_probabilities(tokens[start:last])[first - start :].sum())
        count(last - 1)
    return total


def _by_lanes(
    model: LanguageNetwork, tokens: NDArray[np.integer], length: int, *, lanes: int, rows: int, count: Count
) -> float:
    """Read the lanes side by side, or some of them after the others."""
    number = len(tokens) - 1
    lanes = max(1, min(lanes, number // length))
    lane = -(-number // lanes)
    padded = np.zeros(lanes * lane + 1, dtype=np.int64)
    padded[: len(tokens)] = tokens
    texts = np.stack([padded[number * lane : (number + 1) * lane + 1] for number in range(lanes)])
    total = 0.0
    for top in range(0, lanes, rows):
        batch = texts[top : top + rows]
        state: Any = model.start(len(batch))
        for first in range(0, lane, length):
            part = _placed(model, batch[:, first : min(first + length, lane) + 1])
            reading = model.read(part[:, :-1], state)
            total += float(word_loss(reading.features, model.output, part[:, 1:]).cross_entropy)
            state = reading.state
            count(min(number, top * lane + len(batch) * min(first + length, lane)))
    return total


def _by_windows(
    model: LanguageNetwork, tokens: NDArray[np.integer], length: int, *, stride: int, rows: int, count: Count
) -> float:
    number = len(tokens) - 1
    starts = np.arange(0, max(1, number - length + stride), stride)
    padded = np.concatenate([tokens, np.zeros(length, dtype=tokens.dtype)]).astype(np.int64)
    total = 0.0
    for first in range(0, len(starts), rows):
        chosen = starts[first : first + rows]
        part = np.stack([padded[start : start + length + 1] for start in chosen])
        target = part[:, 1:].copy()
        target[chosen > 0, : length - stride] = 0  # seen in the window before
        reading = model.read(_placed(model, part[:, :-1]))
        total += float(word_loss(reading.features, model.output, _placed(model, target)).cross_entropy)
        count(min(number, int(chosen[-1]) + length))
    return total


def _placed(model: LanguageNetwork, rows: NDArray[np.int64]) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(rows)).to(model.output.weight.device)

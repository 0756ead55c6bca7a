"""What the loop needs to know of language models: stretches of text, the loss, and the validation."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.data.batches.text import Lanes, TextBatch, Windows
from regard.data.text.open_character import OpenCharacter
from regard.data.text.special import END
from regard.data.text.text_tokenizer import TextTokenizer
from regard.evaluation.language import CELLS, Surprise, total_surprise
from regard.models.language.folder import AnyLanguageModel
from regard.models.language.network import LanguageNetwork
from regard.models.word_loss import word_loss
from regard.tasks.language.carried_states import CarriedStates
from regard.tasks.language.continuation import continue_tokens
from regard.tasks.language.data import Text, count_unknown, measure_kept
from regard.tasks.language.settings import LanguageConfig
from regard.training.group import Group
from regard.training.loss import Loss
from regard.training.watch import Sample, Validated

VALID_LANES = 16
_SHOWN = 40
"""Tokens of a sample."""


class TextMeasure:
    """A text to measure models on, in tokens, with their size in other units: that of what the tokens write."""

    def __init__(self, text: Text, tokens: NDArray[np.integer], tokenizer: TextTokenizer) -> None:
        self.tokens = tokens
        self.size, self.altered = measure_kept(text, tokenizer)
        self.tokenization = f"{tokenizer.kind} of {tokenizer.size:,}"

    def measure(
        self,
        model: AnyLanguageModel,
        *,
        length: int,
        stride: int = 0,
        lanes: int = 1,
        rows: int | None = None,
        count: Callable[[int], None] | None = None,
    ) -> Surprise:
        """Measure how surprised the model is; `count` receives how many tokens have been read, `rows` at once."""
        return Surprise(
            nats=total_surprise(model, self.tokens, length=length, stride=stride, lanes=lanes, rows=rows, count=count),
            tokens=len(self.tokens) - 1,
            characters=self.size.characters,
            bytes=self.size.bytes,
            unknown=count_unknown(self.tokens),
            altered=self.altered,
            tokenization=self.tokenization,
        )


class LanguageJob:
    """Train on one text, validate on another.

    A network that carries its state reads the text in lanes, and each batch goes on from the state of the one before,
    through which gradients do not pass. That state is part of a checkpoint.

    Reference: Werbos (1990); Williams and Peng (1990), for truncated backpropagation through time.
    """

    def __init__(
        self,
        tokens: NDArray[np.integer],
        valid: TextMeasure,
        tokenizer: TextTokenizer,
        config: LanguageConfig,
        *,
        carries: bool,
        group: Group | None = None,
    ) -> None:
        self.config, self.valid, self.tokenizer, self.group = config, valid, tokenizer, group or Group()
        length = config.data.length
        self.batches = (Lanes if carries else Windows)(
            tokens,
            rows=max(1, config.train.batch_tokens // length),
            length=length,
            seed=config.train.seed,
            rank=self.group.rank,
            ranks=self.group.ranks,
        )
        self._states = CarriedStates(self.batches.rows, batches=config.train.accumulate)
        self.at_once = VALID_LANES if carries else max(1, CELLS // length)
        """Lanes or windows of the held-out text that are read at once."""

    def loss(self, model: nn.Module, batch: TextBatch) -> Loss:
        """Sum the cross-entropy over the tokens of a batch."""
        assert isinstance(model, LanguageNetwork)
        if model.carries:
            lanes = batch.indices - self.group.rank * self.batches.rows
            reading = model(batch.tokens, self._states.before(model, batch.number, lanes))
            self._states.keep(batch.number, int(lanes[0]), reading.state)
        else:
            reading = model(batch.tokens)
        return Loss(
            *word_loss(reading.features, model.output, batch.target, smoothing=self.config.train.label_smoothing)
        )

    def carried(self) -> dict[str, Tensor]:
        """Give the state that the next batch goes on from."""
        return self._states.tensors()

    def carry_on(self, tensors: Mapping[str, Tensor]) -> None:
        """Go on from what `carried` gave."""
        self._states.restore(tensors)

    def validate(self, model: nn.Module) -> Validated:
        """Measure the held-out text, and let the model go on with the beginning of it."""
        assert isinstance(model, LanguageNetwork)
        data = self.config.data
        result = self.valid.measure(model, length=data.length, stride=data.stride, lanes=VALID_LANES, rows=self.at_once)
        return Validated(
            loss=result.loss,
            figures={"perplexity": result.perplexity, "bits_per_character": result.bits_per_character},
            samples=tuple(self._sample(model, number) for number in range(self.config.train.samples)),
        )

    def _sample(self, model: LanguageNetwork, number: int) -> Sample:
        tokens = self.valid.tokens
        start = number * (len(tokens) // max(1, self.config.train.samples))
        prompt = tokens[start : start + 1 + _SHOWN // 2].tolist()
        prompt = prompt[: len(prompt) - len(OpenCharacter(self.tokenizer, prompt).begun)]  # whole characters
        follows = tokens[start + len(prompt) : start + len(prompt) + _SHOWN].tolist()
        output = list(continue_tokens(model, self.tokenizer, [END, *prompt], count=_SHOWN, seed=number))
        shown = [self._whole(item).replace("\n", " ⏎ ") for item in (prompt, output, follows)]
        return Sample(source=shown[0], hypothesis=shown[1], reference=shown[2])

    def _whole(self, tokens: list[int]) -> str:
        """Write tokens as text, without the half characters at its ends where it was cut at a byte."""
        return self.tokenizer.decode(tokens).strip("\N{REPLACEMENT CHARACTER}")

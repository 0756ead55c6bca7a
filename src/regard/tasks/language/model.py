"""A trained language model, ready for use: `regard.load(folder)` gives one."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from regard.config.language import SavedLanguageModel
from regard.data.text.open_character import OpenCharacter
from regard.data.text.special import END
from regard.data.text.text_tokenizer import TextTokenizer
from regard.decoding.search import LONGEST, Sampling
from regard.errors import ArgumentError, ArgumentTypeError
from regard.evaluation.language import Surprise
from regard.inspection.trace.inspected import Inspection
from regard.models.language.folder import AnyLanguageModel, load_language_model
from regard.models.language.network import LanguageNetwork
from regard.models.sequence.build import count_parameters
from regard.tasks.finite_output import check_output
from regard.tasks.language.continuation import continue_tokens, device_of
from regard.tasks.language.data import Text, encode_text
from regard.tasks.language.job import TextMeasure
from regard.tasks.model_folder import check_kind, open_model
from regard.training.group import pick_device


class NextToken(NamedTuple):
    """A token that may follow, and how likely it is."""

    text: str
    probability: float


class Next(NamedTuple):
    """What may follow a prompt."""

    tokens: tuple[NextToken, ...]
    """The likeliest, best first."""
    attended_to: tuple[tuple[str, float], ...] | None
    """Each token of the prompt that the model read, and its attention weight: the mean over the heads of the last
    layer. None for models that do not attend."""
    never_output: float = 0.0
    """The probability of what is never output: `<unk>`, marks that no text has, tokens that the text it
    was trained on does not have, and bytes with which no character goes on here."""


class LanguageModel:
    """A model with its tokenizer: plain text in, what follows out.

    A text begins after a line break, and a line break is a token like any other.
    """

    def __init__(self, model: AnyLanguageModel, tokenizer: TextTokenizer, config: SavedLanguageModel) -> None:
        if model.vocabulary_size != tokenizer.size:
            raise ArgumentError(
                f"`tokenizer` must have the model's {model.vocabulary_size} tokens; received {tokenizer.size}."
            )
        self.model, self.tokenizer, self.config = model, tokenizer, config

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return device_of(self.model)

    def generate(
        self,
        prompt: str = "",
        *,
        max_tokens: int = 100,
        sampling: Sampling | None = None,
        greedy: bool = False,
        no_repeat_ngram: int = 0,
    ) -> str:
        """Go on with the prompt, and give what follows it."""
        pieces = self.stream(
            prompt, max_tokens=max_tokens, sampling=sampling, greedy=greedy, no_repeat_ngram=no_repeat_ngram
        )
        return "".join(pieces)

    def stream(
        self,
        prompt: str = "",
        *,
        max_tokens: int = 100,
        sampling: Sampling | None = None,
        greedy: bool = False,
        no_repeat_ngram: int = 0,
    ) -> Iterator[str]:
        """Do the same, and give each piece of text as soon as it is certain."""
        if max_tokens < 1:
            raise ArgumentError(f"`max_tokens` must be at least 1; received {max_tokens}.")
        if max_tokens > LONGEST:
            raise ArgumentError(f"`max_tokens` must be at most {LONGEST:,}; received {max_tokens:,}.")
        prompt_tokens = self._read(prompt)
        tokens = continue_tokens(
            self.model,
            self.tokenizer,
            [END, *prompt_tokens],
            count=max_tokens,
            sampling=sampling,
            greedy=greedy,
            no_repeat_ngram=no_repeat_ngram,
        )
        pieces = self._write(prompt_tokens, tokens)
        return (
            _without_space(pieces)
            if prompt.endswith(" ") and self.tokenizer.decode(prompt_tokens)[-1:] != " "
            else pieces
        )

    def _write(self, prompt_tokens: Sequence[int], tokens: Iterator[int]) -> Iterator[str]:
        """Turn tokens into text as they come, characters when they are whole; only the line at hand is decoded."""
        line = list(
            prompt_tokens[len(prompt_tokens) - prompt_tokens[::-1].index(END) :]
            if END in prompt_tokens
            else prompt_tokens
        )
        shown, character = len(self.tokenizer.decode(line)), OpenCharacter(self.tokenizer)
        for token in tokens:
            character.read(token)
            if token == END:
                yield f"{self.tokenizer.decode(line)[shown:]}\n"
                line, shown = [], 0
                continue
            line.append(token)
            if not character.begun and len(text := self.tokenizer.decode(line)) > shown:
                yield text[shown:]
                shown = len(text)

    @torch.no_grad()
    def next(self, prompt: str = "", k: int = 10) -> Next:
        """Give the `k` likeliest tokens after the prompt, the probability of all but text, and what is attended to."""
        if k < 1:
            raise ArgumentError(f"`k` must be at least 1; received {k}.")
        prompt_tokens = [END, *self._read(prompt)]
        step = self.model.step(
            torch.tensor([prompt_tokens], device=self.device),
            self.model.start(1, capacity=len(prompt_tokens)),
            weights=True,
        )
        likely = step.log_probabilities[0, -1].float().exp().cpu()
        check_output([likely.max().item()], of=prompt)
        producible = torch.from_numpy(OpenCharacter(self.tokenizer, prompt_tokens).next_producible())
        never_output = float(likely[~producible].sum())
        best = likely.masked_fill(~producible, 0.0).topk(min(k, int(producible.sum())))
        result = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        attended = None
        if step.weights is not None:
            weights = step.weights[0, -1].mean(0)[-1].tolist()
            attended_tokens = prompt_tokens[-len(weights) :]
            attended = tuple(
                zip(map(self.tokenizer.piece, attended_tokens), weights[-len(attended_tokens) :], strict=True)
            )
        tokens = tuple(NextToken(self.tokenizer.piece(token), value) for token, value in result)
        return Next(tokens, attended, never_output)

    def inspect(self, text: str = "", *, target: str | None = None) -> Inspection:
        """Record what every token of a text attends to in every layer and head, and what may follow.

        `target` is read behind it; the result has the probability of each of its tokens.
        """
        from regard.tasks.inspected import inspect_language_model  # imports this module

        return inspect_language_model(self, text, target=target)

    def perplexity(self, texts: Sequence[str], *, stride: int = 0) -> Surprise:
        """Measure how surprising texts are, one after the other, each ended by a line break.

        Models that carry a state read them as one; a Transformer reads windows of the length it was trained with, each
        `stride` tokens after the one before, 0 for the whole window.
        """
        if isinstance(texts, str):
            raise ArgumentError(f'`texts` must be a list of texts; received one string. Write ["{texts[:20]}"].')
        lines = tuple(line for text in texts for line in text.split("\n"))
        return self.measure(Text(lines=lines), stride=stride)

    def measure(self, text: Text, *, stride: int = 0, watch: Callable[[str, int, int], None] | None = None) -> Surprise:
        """Do the same for the lines of files; `watch` receives how far it is."""
        if stride and not self.reads_windows:
            raise ArgumentError(
                f"`stride` must be 0 for a model of kind {self.config.model.kind}, which reads a text from beginning "
                f"to end; received {stride}."
            )
        tokens = np.asarray(encode_text(text, self.tokenizer))
        count = None if watch is None else lambda done: watch("measuring, tokens", done, len(tokens) - 1)
        measure = TextMeasure(text, tokens, self.tokenizer)
        return measure.measure(self.model, length=self.config.length, stride=stride, count=count)

    @property
    def reads_windows(self) -> bool:
        """Whether the model reads a text in windows, for want of a state that it carries from token to token."""
        return isinstance(self.model, LanguageNetwork) and not self.model.carries

    def _read(self, prompt: str) -> list[int]:
        if not isinstance(prompt, str):
            raise ArgumentTypeError(f"`prompt` must be text; received {type(prompt).__name__}.")
        if broken := [item for item in prompt if "\ud800" <= item <= "\udfff"]:
            raise ArgumentError(
                f"`prompt` must be text in UTF-8; received {broken[0]!r} in it, a byte that is none. Is it in another "
                "encoding?"
            )
        return self.tokenizer.encode(prompt)

    def __repr__(self) -> str:
        size = f"{count_parameters(self.model):,} parameters, " if isinstance(self.model, LanguageNetwork) else ""
        tokens = f"{self.tokenizer.kind} tokens, {self.tokenizer.size:,}"
        return f"LanguageModel({self.config.model.kind}, {size}{tokens}, on {self.device})"


def _without_space(pieces: Iterator[str]) -> Iterator[str]:
    """Leave out the space that the prompt ends with already, for tokenizers that do not keep it there."""
    for number, piece in enumerate(pieces):
        yield piece if number else piece.removeprefix(" ")


def load_language(path: str | Path, *, device: torch.device | str = "cpu") -> LanguageModel:
    """Load the language model in a model folder, or of the run in a run folder."""
    folder = open_model(path)
    check_kind(folder, "language")
    model, config = load_language_model(folder, device=pick_device(device, argument="device"))
    return LanguageModel(model, TextTokenizer.load(folder), config)

"""A trained aligner, ready for use: sentence pairs in, links between their words out."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from regard import __version__
from regard.config.align import MaskAlignSpec, SavedAligner
from regard.data.batches.pairs import Examples, make_batch
from regard.data.corpora.pair import Link, Pair
from regard.data.text.tokenizer import FILE, TokenizerPair
from regard.data.text.word_spans import Division, divide, whitespace_words
from regard.errors import ArgumentError, DataError
from regard.inspection.readings.symmetrize import AGREED, mutual_weights
from regard.inspection.readings.words_of_tokens import join
from regard.models.alignment.build import build_aligner
from regard.models.alignment.mask_align import MaskAligner
from regard.models.sequence.build import count_parameters
from regard.tasks.alignment.data import plain_tokens, spread
from regard.tasks.alignment.result import Alignment
from regard.tasks.finite_output import check_output
from regard.tasks.model_folder import open_model
from regard.tasks.saved_model import build_saved, read_saved, whole_folder, write_saved
from regard.tasks.translation.search_batches import Reach, plan_by_cells
from regard.training.group import pick_device

TASK: Literal["align"] = "align"
BATCH_TOKENS = 4096
MAX_LENGTH = 1024
"""Tokens of a side that are read, at most."""


class _Side(NamedTuple):
    """The words of one side of a pair, as links count them, and of which of them each token is a part."""

    words: tuple[str, ...]
    of_tokens: list[int]


class WordAligner:
    """A model that attends in both directions, with its tokenizers. `load_aligner` reads one from a folder."""

    def __init__(self, model: MaskAligner, tokenizers: TokenizerPair, spec: MaskAlignSpec | None = None) -> None:
        self.model, self.tokenizers, self.spec = model, tokenizers, spec or MaskAlignSpec()
        self.reach = Reach(source=MAX_LENGTH, target=MAX_LENGTH)

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    def align(
        self,
        pairs: Sequence[Pair | tuple[str, str]],
        *,
        threshold: float = AGREED,
        words: Division = "marks",
        batch_tokens: int = BATCH_TOKENS,
        watch: Callable[[int], None] | None = None,
    ) -> list[Alignment]:
        """Link the words of sentence pairs where both directions attend to each other.

        Tokens are linked where the harmonic mean of both weights is `threshold` or more, and words where any of their
        tokens are. `words` says how links count them; `watch` receives how many pairs are done. Of a side of more than
        1,024 tokens the rest is left out, with a warning.

        Reference: Chen, Sun and Liu (2021), section 3, arXiv:2012.07162.
        """
        if not 0 < threshold <= 1:
            raise ArgumentError(f"`threshold` must be above 0, at most 1; received {threshold:g}.")
        examples = [item if isinstance(item, Pair) else Pair(source=item[0], target=item[1]) for item in pairs]
        outcome: dict[int, Alignment] = {}
        for index, alignment in self._align(examples, threshold, words, batch_tokens):
            outcome[index] = alignment
            if watch is not None:
                watch(len(outcome))
        return [outcome[index] for index in range(len(examples))]

    def _align(
        self, pairs: Sequence[Pair], threshold: float, words: Division, batch_tokens: int
    ) -> Iterator[tuple[int, Alignment]]:
        source, source_words = self.tokenizers.source.encode_with_words(spread(pair.source) for pair in pairs)
        target, target_words = self.tokenizers.target.encode_with_words(spread(pair.target) for pair in pairs)
        long = [index for index in range(len(pairs)) if max(len(source[index]), len(target[index])) > MAX_LENGTH]
        if long:
            warnings.warn(
                f"{len(long)} of {len(pairs)} pairs, the first at index {long[0]}, had more than {MAX_LENGTH:,} tokens "
                "on a side, which is how many are read; the rest was left out. Divide them into sentences.",
                stacklevel=4,
            )
            source, source_words, target, target_words = (
                item.cut(MAX_LENGTH) for item in (source, source_words, target, target_words)
            )
        examples = Examples(source=source, target=target)
        was_training = self.model.training
        self.model.eval()
        for indices in plan_by_cells(source.lengths + 1, target.lengths + 1, tokens=batch_tokens):
            tokens = plain_tokens(make_batch(examples, indices).to(self.device))
            with torch.no_grad():
                read = self.model(*tokens) if tokens.source.size(1) and tokens.target.size(1) else None
            for row, index in enumerate(indices.tolist()):
                sides = (
                    _side(pairs[index].source, source_words[index].tolist(), words),
                    _side(pairs[index].target, target_words[index].tolist(), words),
                )
                counts = len(source[index]), len(target[index])
                if read is None or 0 in counts:
                    yield index, _nothing(*sides)
                    continue
                forward = read.to_target.weights[row, :, : counts[1], : counts[0] + 1].mean(0).cpu()
                backward = read.to_source.weights[row, :, : counts[0], : counts[1] + 1].mean(0).cpu()
                check_output([float(forward.sum()), float(backward.sum())], of=pairs[index].source)
                yield index, _linked(*sides, forward, backward, threshold)
        self.model.train(was_training)

    def save(self, folder: Path) -> None:
        """Write model.safetensors, config.json and tokenizer.json. Nothing is pickled."""
        config = SavedAligner(
            version=__version__,
            task=TASK,
            model=self.spec,
            source_vocabulary=self.tokenizers.source.size,
            target_vocabulary=self.tokenizers.target.size,
        )
        write_saved(folder, self.model, config, {FILE: self.tokenizers.to_json()})

    def __repr__(self) -> str:
        source, target = self.tokenizers
        tokens = f"{target.kind} tokens, {source.size:,} and {target.size:,}"
        return f"WordAligner({self.spec.kind}, {count_parameters(self.model):,} parameters, {tokens}, on {self.device})"


def _side(text: str, marks: list[int], words: Division) -> _Side:
    names = tuple(divide(text, words))
    if words == "marks":
        return _Side(names, marks)
    numbers = whitespace_words(text)
    return _Side(names, [numbers[mark] for mark in marks])


def _linked(
    source: _Side,
    target: _Side,
    forward: Float[Tensor, "target nothing_and_source"],
    backward: Float[Tensor, "source nothing_and_target"],
    threshold: float,
) -> Alignment:
    """Link the words of tokens that attend to each other."""
    agreed = mutual_weights(forward[:, 1:], backward[:, 1:]) >= threshold
    cells = {(source.of_tokens[here], target.of_tokens[there]) for there, here in agreed.nonzero().tolist()}
    return Alignment(
        source=source.words,
        target=target.words,
        links=tuple(Link(here, there, sure=True) for here, there in sorted(cells)),
        weights=_by_words(forward, source, target),
        reverse_weights=_by_words(backward, target, source),
    )


def _by_words(
    weights: Float[Tensor, "rows nothing_and_columns"], columns: _Side, rows: _Side
) -> Float[Tensor, "words others_and_nothing"]:
    """Sum the weights of the tokens of a word, and give the mean over those of a word that attends; nothing last."""
    numbers = [len(columns.words), *columns.of_tokens]
    by_column = join(weights, numbers, len(columns.words) + 1, axis=-1)
    return join(by_column, rows.of_tokens, len(rows.words), axis=-2, mean=True)


def _nothing(source: _Side, target: _Side) -> Alignment:
    """Give a pair of which one side has no words: all attend to nothing."""
    weights = torch.zeros(len(target.words), len(source.words) + 1)
    reverse = torch.zeros(len(source.words), len(target.words) + 1)
    weights[:, -1], reverse[:, -1] = 1.0, 1.0
    return Alignment(source=source.words, target=target.words, links=(), weights=weights, reverse_weights=reverse)


def load_aligner(path: str | Path, *, device: torch.device | str = "cpu") -> WordAligner:
    """Load the model in a model folder, or of the run in a run folder; "auto" takes a GPU where there is one."""
    folder = open_model(path)
    config = read_saved(folder, TASK, SavedAligner)
    target_device = pick_device(device, argument="device")
    sizes = {"source_vocabulary": config.source_vocabulary, "target_vocabulary": config.target_vocabulary}
    with whole_folder(folder, TASK):
        model = build_saved(lambda: build_aligner(config.model, **sizes), folder)
        tokenizers = TokenizerPair.load(folder)
        for name, tokenizer in zip(("source", "target"), tokenizers, strict=True):
            if tokenizer.size != sizes[f"{name}_vocabulary"]:
                raise DataError(
                    f"{folder / FILE} must have the {sizes[f'{name}_vocabulary']:,} {name} tokens of the model beside "
                    f"it; received {tokenizer.size:,}. Is it of another model?"
                )
    return WordAligner(model.to(target_device).eval(), tokenizers, config.model)

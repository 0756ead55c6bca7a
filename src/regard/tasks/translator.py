"""A trained translator, ready for use: `regard.load(folder)` gives one."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from regard.config.model import SavedModel
from regard.data.batches import Batch, Batches, Examples
from regard.data.ragged import Ragged
from regard.data.special import END, START
from regard.data.tokenizer import TokenizerPair
from regard.decoding.decode import decode
from regard.decoding.forced import force
from regard.decoding.hypothesis import Hypothesis
from regard.decoding.search import Search
from regard.errors import ArgumentError, DataError
from regard.models.build import Model
from regard.models.folder import load_model


@dataclass(frozen=True, kw_only=True, eq=False)
class Translation:
    """One output for one sentence, with what is known of it."""

    source: str
    text: str
    score: float
    """What search ranks by: the log-probability, divided by a power of the length."""
    log_probabilities: tuple[float, ...]
    """Of each target token, given those before it."""
    source_tokens: tuple[str, ...]
    """As the vocabulary spells them, `</s>` last."""
    target_tokens: tuple[str, ...]
    """As the vocabulary spells them, `</s>` last where it was said."""
    source_words: tuple[int, ...]
    """For each source token but `</s>`, the position of its word in `words(source)`."""
    target_words: tuple[int, ...]
    """For each target token but `</s>`, the position of its word in `words(text)`."""
    finished: bool
    weights: Float[Tensor, "layers heads target source"] | None = None
    """How much each target token looked at each source token when it was about to be said, if asked for."""

    @property
    def log_probability(self) -> float:
        """That of the whole output."""
        return sum(self.log_probabilities)


class Translator:
    """A model with its tokenizers: plain text in, plain text out."""

    def __init__(self, model: Model, tokenizers: TokenizerPair, config: SavedModel) -> None:
        self.model, self.tokenizers, self.config = model, tokenizers, config

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    def translate(self, texts: Sequence[str], search: Search | None = None) -> list[str]:
        """Translate sentences, and give the best output of each, in order."""
        return [best[0].text for best in self.search(texts, search)]

    def search(
        self, texts: Sequence[str], search: Search | None = None, *, weights: bool = False, batch_tokens: int = 4096
    ) -> list[list[Translation]]:
        """Give the `n_best` outputs of each sentence, best first; those of like length are searched together."""
        search = search or Search()
        self._check_texts(texts)
        source = self.tokenizers.source.encode_batch(texts)
        nothing = Ragged.from_lists([[]] * len(texts))
        found: dict[int, list[Translation]] = {}
        for batch in Batches(Examples(source=source, target=nothing), tokens=batch_tokens, shuffle=False):
            placed = batch.to(self.device)
            outputs = decode(
                self.model,
                placed.source,
                placed.source_lengths,
                search=search,
                start=START,
                end=END,
                weights=weights,
            )
            for index, hypotheses in zip(batch.indices.tolist(), outputs, strict=True):
                found[index] = [self._describe(texts[index], one) for one in hypotheses]
        return [found[index] for index in range(len(texts))]

    def force(
        self, sources: Sequence[str], targets: Sequence[str], *, weights: bool = False, batch_tokens: int = 4096
    ) -> list[Translation]:
        """Let the model say given translations: how likely each token was, and where it looked for it."""
        self._check_texts(sources)
        self._check_texts(targets)
        if len(sources) != len(targets):
            raise ArgumentError(
                f"`targets` must have one entry for each of the {len(sources)} sources; received {len(targets)}."
            )
        examples = Examples(
            source=self.tokenizers.source.encode_batch(sources), target=self.tokenizers.target.encode_batch(targets)
        )
        found: dict[int, Translation] = {}
        for batch in Batches(examples, tokens=batch_tokens, shuffle=False):
            for index, one in zip(batch.indices.tolist(), self._force(batch, weights=weights), strict=True):
                found[index] = self._describe(sources[index], one, text=targets[index])
        return [found[index] for index in range(len(sources))]

    def _force(self, batch: Batch, *, weights: bool) -> list[Hypothesis]:
        placed = batch.to(self.device)
        return force(
            self.model,
            placed.source,
            placed.source_lengths,
            placed.target_input,
            placed.target_output,
            placed.target_lengths,
            weights=weights,
        )

    def _describe(self, source: str, found: Hypothesis, *, text: str | None = None) -> Translation:
        """Put words to numbers."""
        sides = self.tokenizers
        read = sides.source.encode(source)
        said = sides.target.decode(found.tokens) if text is None else text
        written = sides.target.encode(said)
        return Translation(
            source=source,
            text=said,
            score=found.score,
            log_probabilities=found.log_probabilities,
            source_tokens=tuple(sides.source.pieces([*read.ids, END])),
            target_tokens=tuple(sides.target.pieces(found.tokens)),
            source_words=tuple(read.words),
            target_words=tuple(written.words),
            finished=found.finished,
            weights=found.weights,
        )

    def _check_texts(self, texts: Sequence[str]) -> None:
        if isinstance(texts, str):
            raise ArgumentError(f'`texts` must be a list of sentences; received one string. Write ["{texts[:20]}"].')


def load(folder: str | Path, *, device: torch.device | str = "cpu") -> Translator:
    """Load the model in a model folder, or of the run in a run folder."""
    path = Path(folder)
    if not (path / "config.json").is_file() and (path / "model" / "config.json").is_file():
        path = path / "model"
    if not path.is_dir():
        raise DataError(f"`folder` must be a model folder or a run folder; received {folder}, which is not there.")
    model, config = load_model(path, device=device)
    return Translator(model, TokenizerPair.load(path), config)

"""A translator that counts: which words translate each other, how far one moves on, and which words follow which.

Before networks, translation was done so. It keeps to the same protocol as they do, so that the same search finds its
translations and the same commands measure them.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from regard.errors import ArgumentError
from regard.models.language.network import History
from regard.models.language.ngram import NGramModel
from regard.models.sequence.prediction import check_lengths, check_some

FLOOR = 1e-9
"""Probability of a translation that was never counted."""
STEPS = 4
"""Fertilities that are distinguished: 0, 1, 2, and 3 or more."""


class Counts(NamedTuple):
    """What was counted of word pairs, as flat arrays."""

    starts: Int[Tensor, " source_vocabulary_and_one"]
    """Where the translations of each source word begin in the next two."""
    words: Int[Tensor, " entries"]
    """Target words."""
    probabilities: Float[Tensor, " entries"]
    """t(target word | source word)."""
    jumps: Float[Tensor, " distances"]
    """How often the next target word comes from a source word so far on: −reach … reach."""
    fertility: Float[Tensor, "source_vocabulary 4"]
    """How likely a source word that has given 0, 1, 2, 3 or more target words gives another."""


class SourceTables(NamedTuple):
    """What the counts give for some sources."""

    translations: Float[Tensor, "batch source vocabulary"]
    """t(word | x_i)."""
    jumps: Float[Tensor, "batch source_and_one source"]
    """From where the last word came, the first row for none, to where the next may come from."""
    fertility: Float[Tensor, "batch source 4"]
    words: Bool[Tensor, "batch source"]
    """True for words, false for the end and for padding."""

    @property
    def rows(self) -> int:
        """How many sources."""
        return self.translations.size(0)

    def select(self, rows: Int[Tensor, " chosen"]) -> "SourceTables":
        """Take these rows, in this order."""
        return SourceTables(*(tensor.index_select(0, rows) for tensor in self))


class StatisticalState(NamedTuple):
    """Where the next word is expected to come from, what is covered, and the last words."""

    expected: Float[Tensor, "rows source"]
    covered: Float[Tensor, "rows source"]
    """How many target words each source word has given, so far as is known."""
    language: History
    begun: bool
    """Whether the start token was read."""

    @property
    def rows(self) -> int:
        """How many rows."""
        return self.expected.size(0)

    def select(self, rows: Int[Tensor, " chosen"]) -> "StatisticalState":
        """Take these rows, in this order; one may come twice."""
        expected, covered = self.expected.index_select(0, rows), self.covered.index_select(0, rows)
        return StatisticalState(expected, covered, self.language.select(rows.cpu()), self.begun)


class StatisticalStep(NamedTuple):
    """What one step gives."""

    log_probabilities: Float[Tensor, "rows new vocabulary"]
    state: StatisticalState
    weights: None = None
    """It does not attend."""


class StatisticalModel(nn.Module):
    r"""Multiply three estimates of the next word: translation, coverage and language.

    $$p(y_t \mid y_{<t}, x) \propto \Big( \sum_i \pi_t(i)\, t(y_t \mid x_i) \Big)^{1-\lambda}\,
    p_n(y_t \mid y_{t-n+1}, \dots, y_{t-1})^{\lambda}\, s_t^{\kappa [y_t = \text{end}]}$$

    $$\pi_t(i) \propto h(x_i, c_{t-1}(i)) \sum_{i'} \gamma_{t-1}(i')\, d(i - i'), \qquad
    \gamma_t(i) \propto \pi_t(i)\, t(y_t \mid x_i), \qquad c_t = \sum_{\tau \le t} \gamma_\tau, \qquad
    s_t = \prod_i \big(1 - h(x_i, c_{t-1}(i))\big)$$

    where $t$ is IBM Model 1's table, $d$ counts how far the source of one target word is from that of the next,
    $h(x, c)$ how often a source word with $c$ translations has another (its fertility), $p_n$ is an n-gram model,
    $\gamma$ says where a word came from, and $s_t$ how likely it is that nothing is left to translate. $\lambda$ is
    `language_weight` and $\kappa$ `coverage_weight`.

    Reference: Brown et al. (1993), sections 4.2 and 4.4; Vogel, Ney and Tillmann (1996), equation 4, for $d$; Och and
    Ney (2002), section 2, for the weighted product.
    Differs: where words come from is summed over, not searched, so that a hypothesis is its words alone; the product
    is normalized over the vocabulary at each step; $d$ and $h$ are counted once, from Model 1's best links.
    """

    starts: Tensor
    words: Tensor
    probabilities: Tensor
    jumps: Tensor
    fertility: Tensor

    def __init__(
        self, counts: Counts, language: NGramModel, *, end: int, language_weight: float, coverage_weight: float
    ) -> None:
        super().__init__()
        for name, table in counts._asdict().items():
            self.register_buffer(name, table)
        self.language, self.end = language, end
        self.language_weight, self.coverage_weight = language_weight, coverage_weight

    @property
    def num_counts(self) -> int:
        """How many numbers were estimated: translations, distances, fertilities and n-grams."""
        tables = self.probabilities.numel() + self.jumps.numel() + self.fertility.numel()
        return tables + sum(len(level.keys) for level in self.language.levels)

    @property
    def vocabularies(self) -> dict[str, int]:
        """How many tokens either side has."""
        return {"source": self.starts.numel() - 1, "target": self.language.vocabulary_size}

    def encode(self, source: Int[Tensor, "batch source"], lengths: Int[Tensor, " batch"] | None = None) -> SourceTables:
        """Look up what was counted of each source word, the end included."""
        if lengths is None:
            lengths = torch.full((source.size(0),), source.size(1))
        check_lengths(lengths, source)
        positions, last = torch.arange(source.size(1), device=source.device), lengths.to(source.device)[:, None]
        reach = self.jumps.numel() // 2
        before = torch.arange(-1, source.size(1), device=source.device)[:, None]
        jumps = self.jumps[(positions - before).clamp(-reach, reach) + reach] * (positions < last)[:, None]
        return SourceTables(
            self._translations(source),
            jumps / jumps.sum(-1, keepdim=True).clamp_min(FLOOR),
            self.fertility[source],
            positions < last - 1,
        )

    def _translations(self, source: Int[Tensor, "batch source"]) -> Float[Tensor, "batch source vocabulary"]:
        """Spread the entries of each source word over the target vocabulary."""
        flat = source.flatten()
        first, sizes = self.starts[flat], self.starts[flat + 1] - self.starts[flat]
        rows = torch.repeat_interleave(torch.arange(len(flat), device=flat.device), sizes)
        begun = sizes.cumsum(0) - sizes
        entries = torch.arange(len(rows), device=flat.device) + (first - begun)[rows]
        table = self.probabilities.new_zeros(len(flat), self.language.vocabulary_size)
        table[rows, self.words[entries]] = self.probabilities[entries]
        return table.view(*source.shape, -1)

    def start(self, memory: SourceTables, *, capacity: int | None = None) -> StatisticalState:
        """Begin before the first source word, with nothing covered."""
        del capacity
        covered = torch.zeros_like(memory.words, dtype=self.jumps.dtype)
        expected = _shares(memory.jumps[:, 0] * _another(covered, memory.fertility))
        return StatisticalState(expected, covered, self.language.start(memory.rows), False)

    def step(
        self,
        tokens: Int[Tensor, "rows new"],
        state: StatisticalState,
        memory: SourceTables,
        *,
        weights: bool = False,
    ) -> StatisticalStep:
        """Read the next tokens, one or more, and predict what may follow each; there are no weights to give."""
        del weights
        check_some("tokens", tokens)
        read = tokens.clone()
        if not state.begun:
            read[:, 0] = self.end  # in the text that was counted, a sentence begins after the end of another
        predicted = self.language.step(read, state.language)
        repeated = memory.select(
            torch.arange(len(tokens), device=tokens.device) // (len(tokens) // max(memory.rows, 1))
        )
        expected, covered, translated = state.expected, state.covered, []
        for number in range(tokens.size(1)):
            if number or state.begun:
                expected, covered = _move(tokens[:, number], expected, covered, repeated)
            translated.append(self._translated(expected, covered, repeated))
        scores = (1 - self.language_weight) * torch.stack(translated, dim=1)
        scores = scores + self.language_weight * predicted.log_probabilities.to(scores)
        after = StatisticalState(expected, covered, predicted.state, True)
        return StatisticalStep(scores.log_softmax(-1), after)

    def _translated(self, expected: Tensor, covered: Tensor, memory: SourceTables) -> Float[Tensor, "rows vocabulary"]:
        """Give the logarithm of translation and coverage for each word."""
        scores = (expected.unsqueeze(1) @ memory.translations).squeeze(1).clamp_min(FLOOR).log()
        left = torch.where(memory.words, torch.log1p(-_another(covered, memory.fertility)), 0.0).sum(-1)
        scores[:, self.end] += self.coverage_weight / (1 - self.language_weight) * left
        return scores

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Give everything that was counted, under names."""
        named = {name: buffer.cpu().numpy() for name, buffer in self.named_buffers()}
        named["end"] = np.array([self.end])
        named["weights"] = np.array([self.language_weight, self.coverage_weight])
        return named | {f"language.{name}": array for name, array in self.language.arrays().items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "StatisticalModel":
        """Read what `arrays` gave, and raise where it cannot have been counted."""
        inner = {
            name.removeprefix("language."): array for name, array in arrays.items() if name.startswith("language.")
        }
        _check_arrays(arrays)
        language_weight, coverage_weight = arrays["weights"].tolist()
        model = cls(
            Counts(*(torch.from_numpy(arrays[name].copy()) for name in Counts._fields)),
            NGramModel.from_arrays(inner),
            end=int(arrays["end"][0]),
            language_weight=language_weight,
            coverage_weight=coverage_weight,
        )
        size = model.language.vocabulary_size
        if (arrays["words"] >= size).any() or not 0 <= model.end < size:
            raise ArgumentError(f"`words` and `end` must be below the {size:,} target tokens; received others.")
        return model


def _check_arrays(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise where counts cannot be trusted as positions in arrays, or are no probabilities."""
    starts, words, fertility = arrays["starts"], arrays["words"], arrays["fertility"]
    shapes = {
        "starts": (np.int64, (max(len(starts), 2),)),
        "words": (np.int64, words.shape[:1]),
        "probabilities": (np.float32, words.shape[:1]),
        "jumps": (np.float32, (len(arrays["jumps"]) // 2 * 2 + 1,)),
        "fertility": (np.float32, (len(starts) - 1, STEPS)),
        "end": (np.int64, (1,)),
        "weights": (np.float64, (2,)),
    }
    for name, (kind, shape) in shapes.items():
        array = arrays[name]
        if array.dtype != kind or array.shape != shape:
            raise ArgumentError(
                f"`{name}` must be {kind.__name__} of shape {shape}; received {array.dtype} of shape {array.shape}."
            )
        if not (np.isfinite(array).all() and (array >= 0).all()):
            raise ArgumentError(f"`{name}` must be finite and not below 0; received others.")
    if starts[0] != 0 or starts[-1] != len(words) or (np.diff(starts) < 0).any():
        raise ArgumentError(f"`starts` must rise from 0 to {len(words):,}; received others.")
    if (fertility >= 1).any() or arrays["weights"][0] >= 1:
        raise ArgumentError("`fertility` and the first of `weights` must be below 1; received others.")


def _move(
    token: Int[Tensor, " rows"], expected: Tensor, covered: Tensor, memory: SourceTables
) -> tuple[Float[Tensor, "rows source"], Float[Tensor, "rows source"]]:
    """Decide where a word came from, count it as covered, and expect the next."""
    caused = expected * memory.translations[torch.arange(len(token), device=token.device), :, token]
    total = caused.sum(-1, keepdim=True)
    came_from = torch.where(total > 0, caused / total.clamp_min(torch.finfo(total.dtype).tiny), expected)
    covered = covered + came_from
    moved = (came_from.unsqueeze(1) @ memory.jumps[:, 1:]).squeeze(1)
    return _shares(moved * _another(covered, memory.fertility)), covered


def _another(
    covered: Float[Tensor, "rows source"], fertility: Float[Tensor, "rows source 4"]
) -> Float[Tensor, "rows source"]:
    """Give how likely each source word is to give another target word; between two counts, in between."""
    covered = covered.clamp_max(STEPS - 1)
    low = covered.floor().clamp_max(STEPS - 2).long()
    both = [fertility.take_along_dim((low + step).unsqueeze(-1), -1).squeeze(-1) for step in (0, 1)]
    return torch.lerp(both[0], both[1], covered - low)


def _shares(weights: Float[Tensor, "rows source"]) -> Float[Tensor, "rows source"]:
    return weights / weights.sum(-1, keepdim=True).clamp_min(FLOOR)

r"""The best continuations straight from logits, for a search without rules that forbid words.

The log-probabilities of all words need not be written: $\log p_v = z_v - \log \sum_u \exp z_u$, so the order of a
row's words is that of their logits. On a GPU one pass over the logits gives each row's normalizer and the maximum of
each chunk of words; then only the words of the best chunks are compared. Among the `count` best chunks are the `count`
best words: see `ranking.best`, which does the same for log-probabilities.
"""

import importlib.util
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from regard.decoding.beam import Beam, BeamStep
from regard.decoding.history import Choice
from regard.decoding.ranking import CHUNK, best
from regard.decoding.search import Search
from regard.decoding.shortlist import predicts_from_features
from regard.models.sequence.prediction import log_probabilities
from regard.models.sequence.protocol import AnyModel, Stepped

MOST_PICKS = 16
MOST_CHUNKS = 8192
"""Of the hypotheses of a sentence, whose maxima one program holds."""
GROUP = 32
"""Chunks that a program reads at once."""


class LogitStep(BeamStep):
    """A step from logits; `serves` says for which searches."""

    @staticmethod
    def serves(model: AnyModel, search: Search) -> bool:
        """Return whether no rule needs the log-probabilities, and the model's `step` is the softmax of its matrix."""
        ruled = search.min_length or search.no_repeat_ngram or search.coverage_penalty or search.sampling is not None
        return not ruled and predicts_from_features(model)

    def predict(self, beam: Beam, state: Any, memory: Any) -> Stepped[Any]:
        """Give the logits of every word after each hypothesis."""
        features, state, _ = self.model.step_features(beam.tokens, state, memory)  # type: ignore[attr-defined]
        return self.model.output(features), state, None  # type: ignore[attr-defined]

    def pick(
        self, beam: Beam, words: Float[Tensor, "rows new words"], covered: Float[Tensor, "sentences width"] | None
    ) -> Choice:
        """Pick the likeliest continuations."""
        return choose_words(beam.total, words[:, -1], self.search.beam)


def choose_words(start: Float[Tensor, "sentences width"], logits: Float[Tensor, "rows words"], count: int) -> Choice:
    r"""Give the `count` largest of $\text{start}_{sw} + \log p_{swv}$ over hypotheses $w$ and words $v$, best first.

    Row s · width + w of the logits belongs to hypothesis w of sentence s. NaN counts as more than any number.

    >>> choose_words(torch.zeros(1, 2), torch.tensor([[0.0, 0.0], [0.0, -torch.inf]]), 1)
    Choice(parent=tensor([[1]]), token=tensor([[0]]), log_probability=tensor([[0.]]))
    """
    if refusal(start, logits, count) is not None:
        return plain_choice(start, logits, count)
    return fused_choice(start, logits, count)


def plain_choice(start: Float[Tensor, "sentences width"], logits: Float[Tensor, "rows words"], count: int) -> Choice:
    """Do it by the log-probabilities of all words."""
    of_words = log_probabilities(logits).view(*start.shape, -1)
    parent, token = best(start.to(of_words), of_words, count)
    return Choice(parent, token, of_words.flatten(1).gather(1, parent * of_words.size(-1) + token))


def refusal(start: Float[Tensor, "sentences width"], logits: Float[Tensor, "rows words"], count: int) -> str | None:
    """Say why the kernels do not serve these tensors; None where they do."""
    if not logits.is_cuda or importlib.util.find_spec("triton") is None:
        return "they need a CUDA device and Triton"
    if torch.float64 in (logits.dtype, start.dtype):
        return "they add up in float32"
    if not logits.numel():
        return "an axis is empty"
    if count > MOST_PICKS:
        return f"they pick {MOST_PICKS} words at most; {count} are wanted"
    chunks = start.size(1) * -(-logits.size(1) // CHUNK)
    if not count <= chunks <= MOST_CHUNKS:
        return f"they are for {count} to {MOST_CHUNKS} chunks of {CHUNK} words for a sentence; there are {chunks}"
    return None


def fused_choice(start: Float[Tensor, "sentences width"], logits: Float[Tensor, "rows words"], count: int) -> Choice:
    """Do it by two kernels."""
    from regard.decoding.word_choice_triton import choice_kernel, maxima_kernel

    (sentences, width), (rows, words) = start.shape, logits.shape
    logits, start = logits if logits.stride(1) == 1 else logits.contiguous(), start.float().contiguous()
    chunks = -(-words // CHUNK)
    (highest, log_sums), maxima = start.new_empty(2, rows), start.new_empty(rows, chunks)
    parent, token = (torch.empty(sentences, count, dtype=torch.long, device=start.device) for _ in range(2))
    of_token = start.new_empty(sentences, count)
    block = _power_of_two(width * chunks)
    with torch.cuda.device(logits.device) if logits.is_cuda else torch.no_grad():
        maxima_kernel[rows,](
            logits, highest, log_sums, maxima, words, chunks, logits.stride(0),
            CHUNK=CHUNK, GROUP=min(GROUP, _power_of_two(chunks)), num_warps=4,
        )  # fmt: skip
        choice_kernel[sentences,](
            logits, highest, log_sums, maxima, start, parent, token, of_token,
            words, chunks, width, count, logits.stride(0),
            CHUNK=CHUNK, BLOCK=block, COUNT=_power_of_two(count), num_warps=4 if block <= 2048 else 8,
        )  # fmt: skip
    return Choice(parent, token, of_token)


def _power_of_two(count: int) -> int:
    """Round up."""
    return 1 << (count - 1).bit_length()

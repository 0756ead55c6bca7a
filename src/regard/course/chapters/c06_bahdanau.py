"""Chapter 6: Bahdanau's attention."""

import torch
from torch import Tensor

from regard.attention import Additive, Padding, attention
from regard.course.exercise import Case, Exercise, Mistake


def additive_scores(state: Tensor, memory: Tensor, state_map: Tensor, memory_map: Tensor, vector: Tensor) -> Tensor:
    """Score every memory against one state of the decoder.

    `e_j = v · tanh(W s + U h_j)`. `state` s is (state size,), `memory` h is (length, memory size), `state_map` W is
    (hidden, state size), `memory_map` U is (hidden, memory size), `vector` v is (hidden,); the result is (length,).
    """
    return Additive(vector).dense((state_map @ state)[None], memory @ memory_map.T)[0]


def _without_tanh(state: Tensor, memory: Tensor, state_map: Tensor, memory_map: Tensor, vector: Tensor) -> Tensor:
    return (state_map @ state + memory @ memory_map.T) @ vector


def _tanh_of_each(state: Tensor, memory: Tensor, state_map: Tensor, memory_map: Tensor, vector: Tensor) -> Tensor:
    return (torch.tanh(state_map @ state) + torch.tanh(memory @ memory_map.T)) @ vector


def _score_cases() -> list[Case]:
    return [
        {
            "state": torch.randn(state),
            "memory": torch.randn(length, size),
            "state_map": torch.randn(hidden, state),
            "memory_map": torch.randn(hidden, size),
            "vector": torch.randn(hidden),
        }
        for length, state, size, hidden in ((1, 1, 1, 1), (2, 1, 2, 1), (3, 2, 4, 3), (5, 4, 3, 6))
    ]


def padded_context(scores: Tensor, memory: Tensor, lengths: Tensor) -> Tensor:
    """Give the context of each sentence of a batch, where the shorter ones are filled up.

    `scores` is (batch, length), `memory` (batch, length, size), `lengths` (batch,) counts the real words. Padding
    gets no weight, and the weights of the real words sum to one. The result is (batch, size).
    """
    bias = scores.unsqueeze(1)
    zeros = memory.new_zeros(len(scores), 1, 1)
    context: Tensor = attention(zeros, zeros.expand(-1, scores.size(1), -1), memory, bias=bias, mask=Padding(lengths))
    return context.squeeze(1)


def _masked_after(scores: Tensor, memory: Tensor, lengths: Tensor) -> Tensor:
    real = torch.arange(scores.size(1)) < lengths[:, None]
    return ((torch.softmax(scores, -1) * real).unsqueeze(1) @ memory).squeeze(1)


def _unmasked(scores: Tensor, memory: Tensor, lengths: Tensor) -> Tensor:
    return (torch.softmax(scores, -1).unsqueeze(1) @ memory).squeeze(1)


def _zero_scores(scores: Tensor, memory: Tensor, lengths: Tensor) -> Tensor:
    real = torch.arange(scores.size(1)) < lengths[:, None]
    return (torch.softmax(scores * real, -1).unsqueeze(1) @ memory).squeeze(1)


def _padded_cases() -> list[Case]:
    return [
        {"scores": torch.tensor([[0.0, 0.0]]), "memory": torch.tensor([[[1.0], [9.0]]]), "lengths": torch.tensor([1])},
        *(
            {
                "scores": torch.randn(batch, length),
                "memory": torch.randn(batch, length, 2),
                "lengths": torch.randint(1, length + 1, (batch,)),
            }
            for batch, length in ((1, 3), (2, 3), (3, 5))
        ),
    ]


def links_of(weights: Tensor) -> set[tuple[int, int]]:
    """Read word links off a map of weights: each target word to the source word it attended to most.

    `weights` is (target length, source length), and its last column is `</s>`, which is no word: it is left out. Give
    the pairs (source word, target word), counted from 0.
    """
    return {(source, target) for target, source in enumerate(weights[:, :-1].argmax(-1).tolist())}


EXERCISES = (
    Exercise(
        number="6.1",
        title="The additive score",
        reference=additive_scores,
        cases=_score_cases,
        hints=(
            "`memory @ memory_map.T` is (length, hidden); `state_map @ state` is (hidden,) and is added to each row.",
            "Take the tanh of the sum, then multiply by the vector.",
        ),
        mistakes=(
            Mistake(
                answer=_without_tanh,
                reason="Without the tanh the state adds the same number to every score, and the softmax drops it: the "
                "weights would not depend on the state.",
            ),
            Mistake(
                answer=_tanh_of_each, reason="The tanh is of the sum; of each part alone the two would never meet."
            ),
        ),
    ),
    Exercise(
        number="6.2",
        title="Padding gets nothing",
        reference=padded_context,
        cases=_padded_cases,
        hints=(
            "`torch.arange(length) < lengths[:, None]` is True at real words.",
            "`scores.masked_fill(~real, -torch.inf)` before the softmax.",
        ),
        mistakes=(
            Mistake(
                answer=_masked_after,
                reason="Masked after the softmax, the weights of the real words sum to less than one.",
            ),
            Mistake(answer=_unmasked, reason="Padding has got weight."),
            Mistake(
                answer=_zero_scores, reason="A score of zero is a score: exp(0) is one. It must be minus infinity."
            ),
        ),
    ),
    Exercise(
        number="6.3",
        title="Links from weights",
        reference=links_of,
        cases=lambda: [
            {"weights": torch.tensor([[0.3, 0.1, 0.6]])},
            {"weights": torch.tensor([[0.1, 0.7, 0.2], [0.8, 0.1, 0.1]])},
            {"weights": torch.softmax(3 * torch.randn(4, 6), -1)},
        ],
        hints=("Cut the last column off before `argmax(-1)`.",),
        mistakes=(
            Mistake(
                answer=lambda weights: {(s, t) for t, s in enumerate(weights.argmax(-1).tolist())},
                reason="The last column is `</s>`: models often attend to it, and it is no word.",
            ),
            Mistake(
                answer=lambda weights: {(t, s) for t, s in enumerate(weights[:, :-1].argmax(-1).tolist())},
                reason="The source word comes first in a link.",
            ),
        ),
    ),
)

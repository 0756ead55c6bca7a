"""Chapter 4: sequence to sequence, and its bottleneck."""

import math

import torch
from torch import Tensor

from regard.course.exercise import Exercise, Mistake


def decoder_input(target: Tensor, start: int) -> Tensor:
    """Give what a decoder reads while it learns to output `target`: teacher forcing.

    `target` is (batch, length), its last tokens `</s>` or padding. At step t the decoder predicts `target[:, t]`, and
    its newest input is the right token before that; at the first step it is `start`.
    """
    return torch.cat([target.new_full((target.size(0), 1), start), target], dim=1)[:, :-1]


def greedy(table: Tensor, start: int, end: int, max_length: int) -> list[int]:
    """Decode greedily from a model that knows only the last token.

    `table` is (vocabulary, vocabulary); row `a` holds the scores of the tokens that may come after `a`. Begin after
    `start`, take the likeliest token again and again, and stop at `end`, which is no part of the output, or after
    `max_length` tokens.
    """
    follows, output, token = table.argmax(dim=-1).tolist(), [], start
    for _ in range(max_length):
        token = follows[token]
        if token == end:
            break
        output.append(token)
    return output


def _with_end(table: Tensor, start: int, end: int, max_length: int) -> list[int]:
    output, token = [], start
    for _ in range(max_length):
        token = int(table[token].argmax())
        output.append(token)
        if token == end:
            break
    return output


def _never_ending(table: Tensor, start: int, end: int, max_length: int) -> list[int]:
    output, token = [], start
    for _ in range(max_length):
        token = int(table[token].argmax())
        output.append(token)
    return output


def longest_copy(size: int, bits: int, vocabulary: int) -> int:
    """Give the longest sequence that one vector can hold, whatever the network.

    A vector of `size` numbers of `bits` bits has `2 ** (size · bits)` states. Every sequence of exactly n words out of
    `vocabulary` must have a state of its own. Give the largest n.
    """
    states, count, length = 1 << (size * bits), vocabulary, 0
    while count <= states:
        count, length = count * vocabulary, length + 1
    return length


EXERCISES = (
    Exercise(
        number="4.1",
        title="Teacher forcing",
        reference=decoder_input,
        cases=lambda: [
            {"target": torch.tensor([[5, 3]]), "start": 2},
            {"target": torch.tensor([[5, 6, 3], [7, 3, 0]]), "start": 2},
            {"target": torch.tensor([[9]]), "start": 1},
        ],
        hints=("The target moved one to the right: `start` comes in front, the last token falls out.",),
        mistakes=(
            Mistake(
                answer=lambda target, start: target,
                reason="The decoder would read the very token it must predict.",
            ),
            Mistake(
                answer=lambda target, start: torch.cat([target[:, 1:], target.new_full((target.size(0), 1), start)], 1),
                reason="That moves the target to the left: the decoder would read the token after the one it must "
                "predict.",
            ),
        ),
    ),
    Exercise(
        number="4.2",
        title="Greedy decoding",
        reference=greedy,
        cases=lambda: [
            {"table": torch.tensor([[0.0, 1.0], [1.0, 0.0]]), "start": 0, "end": 1, "max_length": 3},
            *({"table": torch.rand(size, size), "start": 0, "end": 1, "max_length": size + 2} for size in (3, 4, 5, 6)),
        ],
        hints=("A loop of at most `max_length` turns with one token that is carried along.",),
        mistakes=(
            Mistake(answer=_with_end, reason="`end` says that the output is over; it is no part of it."),
            Mistake(answer=_never_ending, reason="The loop goes on behind `end`."),
        ),
    ),
    Exercise(
        number="4.3",
        title="What fits into one vector",
        reference=longest_copy,
        cases=lambda: [
            {"size": size, "bits": bits, "vocabulary": vocabulary}
            for size, bits, vocabulary in ((1, 1, 2), (1, 3, 2), (2, 4, 10), (48, 2, 32), (256, 16, 30000))
        ],
        hints=("How many bits does one word out of `vocabulary` take?", "size · bits ≥ n · log₂ vocabulary."),
        mistakes=(
            Mistake(
                answer=lambda size, bits, vocabulary: size,
                reason="One number can hold more than one word: it has 2 ** bits values.",
            ),
            Mistake(
                answer=lambda size, bits, vocabulary: math.ceil(size * bits / math.log2(vocabulary)) + 1,
                reason="With one word more there are more sequences than states.",
            ),
        ),
    ),
)

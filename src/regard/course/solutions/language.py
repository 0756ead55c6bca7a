"""Answers to chapters 1 to 4."""

import math
from itertools import pairwise

import torch
from torch import Tensor


def bigram_probability(tokens: list[str], word: str, following: str) -> float:
    """Answer 1.1."""
    after = [second for first, second in pairwise(tokens) if first == word]
    return after.count(following) / len(after) if after else 0.0


def text_perplexity(log_probabilities: list[float]) -> float:
    """Answer 1.2."""
    return math.exp(-sum(log_probabilities) / len(log_probabilities))


def continuation_probability(tokens: list[str], word: str) -> float:
    """Answer 1.3."""
    pairs = set(pairwise(tokens))
    return len([pair for pair in pairs if pair[1] == word]) / len(pairs)


def contexts(tokens: Tensor, size: int, padding: int) -> Tensor:
    """Answer 2.1."""
    padded = [padding] * size + tokens.tolist()
    return torch.tensor([padded[t : t + size] for t in range(len(tokens))])


def recurrent_states(inputs: Tensor, input_matrix: Tensor, state_matrix: Tensor) -> Tensor:
    """Answer 2.2."""
    state, states = torch.zeros(len(state_matrix)), []
    for one in inputs:
        state = torch.tanh(input_matrix @ one + state_matrix @ state)
        states.append(state)
    return torch.stack(states)


def gradient_after(state_matrix: Tensor, distance: int) -> float:
    """Answer 2.3."""
    power = torch.eye(len(state_matrix))
    for _ in range(distance):
        power = state_matrix @ power
    return float(torch.linalg.svdvals(power)[0])


def update_state(state: Tensor, candidate: Tensor, update: Tensor) -> Tensor:
    """Answer 3.1."""
    return (1 - update) * state + update * candidate


def lstm_step(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """Answer 3.2."""
    entry, forget, candidate, output = gates.chunk(4)
    cell = torch.sigmoid(forget) * cell + torch.sigmoid(entry) * torch.tanh(candidate)
    return torch.sigmoid(output) * torch.tanh(cell), cell


def forget_bias(kept: float, steps: int) -> float:
    """Answer 3.3."""
    share = kept ** (1 / steps)
    return math.log(share / (1 - share))


def decoder_input(target: Tensor, start: int) -> Tensor:
    """Answer 4.1."""
    first = torch.full((len(target), 1), start)
    return torch.cat([first, target[:, :-1]], dim=1)


def greedy(table: Tensor, start: int, end: int, max_length: int) -> list[int]:
    """Answer 4.2."""
    token = int(table[start].argmax())
    output: list[int] = []
    while token != end and len(output) < max_length:
        output.append(token)
        token = int(table[token].argmax())
    return output


def longest_copy(size: int, bits: int, vocabulary: int) -> int:
    """Answer 4.3."""
    return int(size * bits / math.log2(vocabulary) + 1e-9)

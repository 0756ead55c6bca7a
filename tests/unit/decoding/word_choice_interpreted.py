"""The kernels that choose words, in Triton's interpreter, in a process of its own: Triton asks for it when imported.

TRITON_INTERPRET=1 python word_choice_interpreted.py
"""

import warnings
from collections.abc import Iterator

import torch
from torch import Tensor

from regard.decoding import word_choice
from regard.decoding.ranking import CHUNK
from regard.decoding.word_choice import fused_choice, plain_choice

Case = tuple[Tensor, Tensor, int]


def cases(device: str = "cpu", dtype: torch.dtype = torch.float32) -> Iterator[tuple[str, Case]]:
    """Give one row and many, odd numbers of words, dead hypotheses, impossible words, strides, ties and NaN."""
    generator = torch.Generator(device).manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, device=device)

    for sentences, width, words, count in (
        (1, 1, 5, 1),
        (3, 1, 2 * CHUNK, 1),
        (2, 5, CHUNK + 1, 5),
        (3, 4, 7 * CHUNK - 3, 3),
        (1, 7, 301, 7),
        (2, 2, 8 * CHUNK + 77, 16),
    ):
        start, logits = normal(sentences, width).mul(3), normal(sentences * width, words).mul(4).to(dtype)
        shape = f"{(sentences, width, words, count)} {dtype}"
        yield shape, (start, logits, count)
        if dtype != torch.float32:
            continue
        yield f"{shape}, far apart", (start, logits * 30 + 1000, count)
        dead = start.clone()
        dead[:, 1:] = -torch.inf
        yield f"{shape}, dead hypotheses", (dead, logits, count)
        few = logits.clone()
        few[:, 2:] = -torch.inf  # whole chunks of nothing, and fewer words than are picked
        yield f"{shape}, few words", (start, few, count)
        wider = torch.full((sentences * width, words + 9), torch.nan, device=device, dtype=dtype)
        yield f"{shape}, strides", (start, wider[:, 3 : 3 + words].copy_(logits), count)
        for number in (torch.nan, torch.inf):
            wrong = logits.clone()
            wrong[-1, words // 2] = number
            yield f"{shape}, {number}", (start, wrong, count)
        wrong = logits.clone()
        wrong[0] = -torch.inf
        yield f"{shape}, a row of nothing", (start, wrong, count)


def compare(case: Case) -> float:
    """Give the largest difference of the sums that were chosen, and check that words come once and belong to them."""
    start, logits, count = case
    expected, received = plain_choice(start, logits, count), fused_choice(start, logits, count)
    every = logits.float().log_softmax(-1).view(*start.shape, -1)
    worst = 0.0
    for sentence in range(len(start)):
        picks = list(zip(received.parent[sentence].tolist(), received.token[sentence].tolist(), strict=True))
        assert len({*picks}) == count, picks
        own = torch.stack([every[sentence, parent, token] for parent, token in picks])
        assert torch.equal(own.isnan(), received.log_probability[sentence].isnan())
        worst = max(worst, difference(own, received.log_probability[sentence]))
        sums = start[sentence, received.parent[sentence]] + received.log_probability[sentence]
        best = start[sentence, expected.parent[sentence]] + expected.log_probability[sentence]
        assert torch.equal(sums.isnan().sort().values, best.isnan().sort().values)
        worst = max(worst, difference(sums, best))
    return worst


def difference(received: Tensor, expected: Tensor) -> float:
    """Give the largest difference, relative to large numbers, of those that are finite; the others must be equal."""
    finite = expected.isfinite()
    assert torch.equal(finite, received.isfinite()), (received, expected)
    assert torch.equal(expected == -torch.inf, received == -torch.inf)
    apart = (received - expected).abs() / expected.abs().clamp_min(1)
    return float(apart[finite].max()) if finite.any() else 0.0


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # the interpreter computes with infinity and NaN too
    word_choice.GROUP = 4  # so that a row takes several rounds
    for dtype in (torch.float32, torch.bfloat16):
        for name, case in cases(dtype=dtype):
            apart = compare(case)
            assert apart < 3e-6, (name, apart)
            print(name, apart)

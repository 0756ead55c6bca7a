r"""Frequencies of rotary positions, and how models stretch them to contexts longer than they were trained on.

$$\theta_i = \text{base}^{-2i/d}, \qquad i = 0, \dots, d/2 - 1$$

Each function gives the $\theta_i$ as a tensor of $d/2$ numbers, for `Rotary(frequencies=…)`.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from regard.attention.checks import check_count, check_number
from regard.errors import ArgumentError


def rotary_frequencies(size: int, base: float = 10000.0) -> Float[Tensor, " pair"]:
    r"""Give the paper's frequencies, $\text{base}^{-2i/d}$, for `size` features.

    Reference: Su et al. (2021), equation 15, arXiv:2104.09864.

    >>> rotary_frequencies(4)
    tensor([1.0000, 0.0100], dtype=torch.float64)
    """
    check_count("size", size)
    if size < 2 or size % 2:
        raise ArgumentError(f"`size` must be an even number of features, two or more; received {size}.")
    check_number("base", base, positive=True)
    return base ** -(torch.arange(0, size, 2, dtype=torch.float64) / size)


def linear_frequencies(size: int, factor: float, base: float = 10000.0) -> Float[Tensor, " pair"]:
    r"""Interpolate positions: divide every frequency by `factor`.

    Reference: Chen et al. (2023), equation 4, arXiv:2306.15595.

    >>> linear_frequencies(4, 4.0)
    tensor([0.2500, 0.0025], dtype=torch.float64)
    """
    check_number("factor", factor, positive=True)
    return rotary_frequencies(size, base) / factor


def ntk_frequencies(size: int, factor: float, base: float = 10000.0) -> Float[Tensor, " pair"]:
    r"""Raise the base so that the highest frequency stays and the lowest is divided by `factor`.

    $$\text{base}' = \text{base} \cdot \text{factor}^{d / (d - 2)}$$

    Reference: Peng et al. (2023), section 3.1, arXiv:2309.00071.

    >>> ntk_frequencies(4, 4.0)
    tensor([1.0000, 0.0025], dtype=torch.float64)
    """
    check_number("factor", factor, positive=True)
    frequencies = rotary_frequencies(size, base)
    return frequencies if size == 2 else rotary_frequencies(size, base * factor ** (size / (size - 2)))


def llama3_frequencies(
    size: int,
    *,
    factor: float = 8.0,
    low_factor: float = 1.0,
    high_factor: float = 4.0,
    original_length: int = 8192,
    base: float = 500000.0,
) -> Float[Tensor, " pair"]:
    r"""Divide low frequencies by `factor`, keep high ones, and pass smoothly from one to the other.

    A frequency is low where its wave is longer than `original_length / low_factor` and high where it is shorter than
    `original_length / high_factor`; between the two, by how many waves fit the original length.

    Reference: Grattafiori et al. (2024), section 3.2, arXiv:2407.21783, as Meta's code for Llama 3.1 computes it.

    >>> llama3_frequencies(4, original_length=32, base=100.0)
    tensor([1.0000, 0.0125], dtype=torch.float64)
    """
    for name, value in (("factor", factor), ("low_factor", low_factor), ("high_factor", high_factor)):
        check_number(name, value, positive=True)
    if not high_factor > low_factor:
        raise ArgumentError(f"`high_factor` must be above `low_factor`, {low_factor}; received {high_factor}.")
    frequencies = rotary_frequencies(size, base)
    waves = original_length * frequencies / (2 * math.pi)  # how many fit the original length
    kept = ((waves - low_factor) / (high_factor - low_factor)).clamp(0, 1)
    return frequencies * (kept + (1 - kept) / factor)


def yarn_frequencies(
    size: int,
    *,
    factor: float,
    original_length: int,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    base: float = 10000.0,
) -> Float[Tensor, " pair"]:
    r"""Divide by `factor` what turns less than `beta_slow` times over the original length, keep what turns more than
    `beta_fast` times, and go linearly between the two, by the index of the pair.

    `Rotary(frequencies=…, magnitude=yarn_magnitude(factor))` also sharpens the weights, as the paper does.

    Reference: Peng et al. (2023), section 3.2 and appendix A.2, arXiv:2309.00071.
    Differs: the ends of the ramp are rounded to whole pairs, as in the authors' code.

    >>> yarn_frequencies(4, factor=4.0, original_length=64, base=100.0)
    tensor([1.0000, 0.0625], dtype=torch.float64)
    """
    check_number("factor", factor, positive=True)
    check_count("original_length", original_length)
    frequencies = rotary_frequencies(size, base)

    def pair_that_turns(times: float) -> float:
        return size * math.log(original_length / (times * 2 * math.pi)) / (2 * math.log(base))

    low = max(math.floor(pair_that_turns(beta_fast)), 0)
    high = min(math.ceil(pair_that_turns(beta_slow)), size - 1)
    ramp = (torch.arange(size // 2, dtype=torch.float64) - low) / max(high - low, 0.001)
    divided = ramp.clamp(0, 1)
    return frequencies * (1 - divided) + frequencies / factor * divided


def yarn_magnitude(factor: float) -> float:
    r"""Return by how much YaRN lengthens query and key: $0.1 \ln(\text{factor}) + 1$.

    Reference: Peng et al. (2023), equation 22, arXiv:2309.00071.

    >>> yarn_magnitude(1.0)
    1.0
    """
    check_number("factor", factor, positive=True)
    return 1.0 if factor <= 1 else 0.1 * math.log(factor) + 1.0

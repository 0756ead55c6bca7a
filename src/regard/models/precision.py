"""Models with matrices of less precision, to decode with: bfloat16 for a GPU, int8 for a CPU.

Embeddings, norms, recurrent layers and the sums between blocks stay as they are, so that little is lost: only the
products with a matrix, which take most of the time, are computed from fewer bits.
"""

import warnings
from collections.abc import Callable
from copy import deepcopy
from typing import Any, ClassVar, Literal, TypeVar, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regard.errors import ArgumentError
from regard.models.sequence.recurrent import RecurrentModel

Precision = Literal["float32", "bfloat16", "int8"]
Network = TypeVar("Network", bound=nn.Module)

LARGEST = 127
"""The largest number of a row, as int8."""


def quantize_rows(matrix: Float[Tensor, "rows columns"]) -> tuple[Int[Tensor, "rows columns"], Float[Tensor, " rows"]]:
    r"""Write each row as int8 and one scale: $w_{ij} \approx s_i q_{ij}$, where $s_i = \max_j |w_{ij}| / 127$.

    Quantizing what was quantized before changes nothing.

    >>> quantize_rows(torch.tensor([[1.0, -2.54], [0.0, 0.0]]))
    (tensor([[  50, -127],
            [   0,    0]], dtype=torch.int8), tensor([0.0200, 1.0000]))
    """
    scale = matrix.abs().amax(1).float() / LARGEST
    scale = torch.where(scale > 0, scale, 1.0)
    return (matrix / scale.unsqueeze(1)).round().clamp(-LARGEST, LARGEST).to(torch.int8), scale


class Int8Linear(nn.Module):
    r"""A linear map by int8 numbers: $y_i = s_i\, t \sum_j q_{ij}\, \text{round}(x_j / t) + b_i$.

    where $s_i$ and $q_{ij}$ are `quantize_rows`'s and $t$ is the scale of the call's input. On a CPU the product is one
    of whole numbers, with seven bits for the input, so that no sum of two products overflows 16 bits; elsewhere the
    matrix is written out as numbers of the input's precision.
    """

    integers: Tensor
    scale: Tensor
    bias: Tensor | None

    def __init__(
        self, integers: Int[Tensor, "out in"], scale: Float[Tensor, " out"], bias: Float[Tensor, " out"] | None
    ) -> None:
        super().__init__()
        self.out_features, self.in_features = integers.shape
        self.register_buffer("integers", integers)
        self.register_buffer("scale", scale)
        self.register_buffer("bias", bias)
        self._packed = self._pack()

    @classmethod
    def from_linear(cls, linear: nn.Linear) -> "Int8Linear":
        """Quantize a linear layer."""
        bias = None if linear.bias is None else linear.bias.detach().float()
        return cls(*quantize_rows(linear.weight.detach()), bias)

    @property
    def weight(self) -> Float[Tensor, "out in"]:
        """The matrix, written out."""
        return self.integers.float() * self.scale.unsqueeze(1)

    def rows(self, chosen: Int[Tensor, " chosen"]) -> "Int8Linear":
        """Give the map to these outputs alone."""
        bias = None if self.bias is None else self.bias[chosen]
        return Int8Linear(self.integers[chosen], self.scale[chosen], bias)

    def _pack(self) -> Any:
        """Lay the matrix out as torch's kernel reads it; None where there is none."""
        if self.integers.device.type != "cpu":
            return None
        zeros = torch.zeros(self.out_features, dtype=torch.long)
        with (
            warnings.catch_warnings()
        ):  # torch means to replace its quantized tensors, of which only this kernel is used
            warnings.simplefilter("ignore", UserWarning)
            matrix = torch._make_per_channel_quantized_tensor(self.integers, self.scale.double(), zeros, 0)
            return torch.ops.quantized.linear_prepack(matrix, self.bias)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "Int8Linear":
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        self._packed = self._pack()
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "Int8Linear":
        return Int8Linear(self.integers.clone(), self.scale.clone(), None if self.bias is None else self.bias.clone())

    def forward(self, states: Float[Tensor, "*batch in"]) -> Float[Tensor, "*batch out"]:
        """Multiply."""
        if self._packed is None:
            bias = None if self.bias is None else self.bias.to(states.dtype)
            return F.linear(states, self.weight.to(states.dtype), bias)
        result: Tensor = torch.ops.quantized.linear_dynamic(states.float(), self._packed, True)
        return result.to(states.dtype)

    def extra_repr(self) -> str:
        """Show the sizes."""
        return f"{self.in_features}, {self.out_features}, bias={self.bias is not None}"


class BFloat16Linear(nn.Linear):
    """A linear map in bfloat16, whatever its input is: what autocast does, without converting the matrix each time.

    With `wide` the result is float32: logits of many words need more digits than bfloat16 has.
    """

    fusible: ClassVar[bool] = True
    wide = False
    with_bias: Tensor

    @classmethod
    def from_linear(cls, linear: nn.Linear, *, wide: bool = False) -> "BFloat16Linear":
        """Round a linear layer."""
        result = cls(linear.in_features, linear.out_features, bias=linear.bias is not None, device="meta")
        result.wide = wide
        for name, item in linear.named_parameters():
            setattr(result, name, nn.Parameter(item.detach().bfloat16(), requires_grad=False))
        if wide:
            result.register_buffer("with_bias", _with_bias(linear), persistent=False)
        return result

    def forward(self, input: Float[Tensor, "*batch in"]) -> Float[Tensor, "*batch out"]:
        """Multiply."""
        states = input.bfloat16()
        if not self.wide:
            return super().forward(states)
        if not states.is_cuda:
            return super().forward(states).float()
        ones = states.new_ones(*states.shape[:-1], self.with_bias.size(1) - states.size(-1))
        rows = torch.cat([states, ones], dim=-1).flatten(0, -2)
        product: Tensor = torch.mm(rows, self.with_bias.mT, out_dtype=torch.float32)
        return product.unflatten(0, states.shape[:-1])  # type: ignore[no-any-return]


def _with_bias(linear: nn.Linear) -> Float[Tensor, "out in_and_more"]:
    """Write the bias as columns of the matrix, for an input of ones there: one product, and no pass over its result.

    The second column is what rounding the first has lost. There are eight, since products of such widths are quickest.
    """
    weight = linear.weight.detach()
    bias = weight.new_zeros(weight.size(0)) if linear.bias is None else linear.bias.detach()
    columns = torch.zeros(weight.size(0), 8, dtype=torch.bfloat16, device=weight.device)
    columns[:, 0] = bias
    columns[:, 1] = bias - columns[:, 0]
    return torch.cat([weight.bfloat16(), columns], dim=1)


def in_precision(model: Network, precision: Precision) -> Network:
    """Copy a model with matrices of that precision, for decoding; "float32" gives the model itself.

    >>> in_precision(nn.Sequential(nn.Linear(4, 2)), "int8")
    Sequential(
      (0): Int8Linear(4, 2, bias=True)
    )
    """
    if precision not in get_args(Precision):
        raise ArgumentError(f'`precision` must be float32, bfloat16 or int8; received "{precision}".')
    if precision == "float32":
        return model
    if precision == "bfloat16" and isinstance(model, RecurrentModel):
        raise ArgumentError(
            '`precision` must be float32 or int8 for a recurrent model; received "bfloat16". Its states are summed up '
            "from word to word, which takes more digits."
        )
    logits = getattr(model, "output", None)
    converted = {
        id(part): Int8Linear.from_linear(part)
        if precision == "int8"
        else BFloat16Linear.from_linear(part, wide=part is logits)
        for part in model.modules()
        if type(part) is nn.Linear
    }
    return deepcopy(model, converted).eval()

"""The fused additive kernel in Triton's interpreter, in a process of its own: Triton asks for it when imported.

TRITON_INTERPRET=1 python additive_interpreted.py
"""

import os

import torch

from regard import Additive, Causal, Concat, Padding, attention
from regard.attention.kernels import additive


def cases():
    """Give name, options and operands: odd sizes, heads, masks with empty rows, large numbers, half precision."""
    draw = torch.Generator().manual_seed(7)

    def normal(*shape, dtype=torch.float32):
        return torch.randn(*shape, generator=draw).to(dtype)

    random = torch.rand(2, 1, 33, 40, generator=draw) > 0.4
    random[0, 0, 3] = False
    yield "plain", {}, (normal(2, 5, 6), normal(2, 7, 6), normal(6), normal(2, 7, 3))
    yield "no batch", {}, (normal(5, 6), normal(7, 6), normal(6), normal(7, 3))
    yield "causal", {"mask": Causal()}, (normal(2, 35, 8), normal(2, 35, 8), normal(8), normal(2, 35, 20))
    padding = {"mask": Padding(torch.tensor([4, 0]))}
    yield "padding", padding, (normal(2, 5, 5), normal(2, 70, 5), normal(5), normal(2, 70, 17))
    heads = (normal(2, 3, 33, 5), normal(2, 3, 40, 5), normal(3, 5), normal(2, 3, 40, 8))
    yield "heads", {"mask": random}, heads
    large = (30 * normal(2, 6, 6), 30 * normal(2, 9, 6), normal(6), normal(2, 9, 4))
    yield "large numbers", {}, large
    half = (normal(2, 9, 8), normal(2, 9, 8), normal(8), normal(2, 9, 16))
    yield "float16", {}, tuple(tensor.half() for tensor in half)  # the interpreter multiplies no bfloat16


def compare(name, options, tensors):
    """Compare context, gradients and second derivatives with the reference in float64."""
    query, key, vector, value = (tensor.clone().requires_grad_() for tensor in tensors)
    exact = [tensor.detach().double().requires_grad_() for tensor in tensors]
    context = attention(query, key, value, score=Additive(vector), backend="triton", **options)
    truth = attention(exact[0], exact[1], exact[3], score=Additive(exact[2]), backend="reference", **options)
    coarse = query.dtype != torch.float32
    near = {"atol": 0.03, "rtol": 0.03} if coarse else {"atol": 2e-5, "rtol": 1e-4}
    torch.testing.assert_close(context.double(), truth, **near, msg=lambda text: f"{name}: {text}")
    arrived = torch.randn(context.shape, generator=torch.Generator().manual_seed(3)).to(context)
    gradients = torch.autograd.grad(context, (query, key, vector, value), arrived, retain_graph=True)
    expected = torch.autograd.grad(truth, exact, arrived.double(), create_graph=True)
    for gradient, true in zip(gradients, expected, strict=True):
        torch.testing.assert_close(gradient.double(), true.detach(), **near, msg=lambda text: f"{name}: {text}")
    if not coarse:
        again = torch.autograd.grad(context, (query, key, vector, value), arrived, create_graph=True)
        second = torch.autograd.grad(again[0].square().sum(), (key, vector), allow_unused=True)
        truly = torch.autograd.grad(expected[0].square().sum(), (exact[1], exact[2]), allow_unused=True)
        for slope, true in zip(second, truly, strict=True):
            torch.testing.assert_close(slope.double(), true, atol=1e-4, rtol=1e-3)


def main():
    torch.set_num_threads(1)
    assert os.environ["TRITON_INTERPRET"] == "1"
    true = additive.on_device
    additive.on_device = lambda tensor: True  # the interpreter computes on the CPU
    try:
        for name, options, tensors in cases():
            compare(name, options, tensors)
        additive.SCRATCH = 1  # one query at a time
        for name, options, tensors in list(cases())[:4]:
            compare(f"{name}, in portions", options, tensors)
    finally:
        additive.on_device = true
    query, key = torch.randn(2, 5, 6), torch.randn(2, 7, 4)
    additive.on_device = lambda tensor: True
    concat = Concat(torch.randn(6, 10), torch.randn(6))
    torch.testing.assert_close(
        attention(query, key, score=concat, backend="triton"), attention(query, key, score=concat, backend="reference")
    )
    asked = attention(query, key, score=concat, backend="triton", return_weights=True)
    torch.testing.assert_close(asked.weights.sum(-1), torch.ones(2, 5))
    nan = key.clone()
    nan[:, 5:] = torch.nan
    masked = attention(query, nan, score=concat, mask=Padding(torch.tensor([5, 5])), backend="triton")
    assert masked.isfinite().all()
    print("agrees")


if __name__ == "__main__":
    main()

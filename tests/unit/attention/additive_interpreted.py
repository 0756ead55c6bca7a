"""The fused additive kernel in Triton's interpreter, in a process of its own: Triton asks for it when imported.

TRITON_INTERPRET=1 python additive_interpreted.py
"""

import os

import torch

from regard import Additive, Causal, Concat, Padding, Window, attention
from regard.attention.kernels import additive, additive_few, additive_launch, additive_op
from regard.attention.kernels.additive_call import Call, Masking


def cases(device="cpu"):
    """Give name, options and operands: odd sizes, heads, masks with empty rows, large numbers, half precision.

    Up to eight queries go to the kernels for a few, as all small problems do unless `additive_few.SMALL` is less.
    """
    draw = torch.Generator().manual_seed(7)

    def normal(*shape, scale=1.0):
        return (scale * torch.randn(*shape, generator=draw)).to(device)

    random = torch.rand(2, 1, 9, 12, generator=draw) > 0.4
    random[0, 0, 3] = False
    lengths = torch.tensor([4, 0], device=device)
    yield "plain", {}, (normal(2, 5, 6), normal(2, 7, 6), normal(6), normal(2, 7, 3))
    yield "no batch", {}, (normal(5, 6), normal(7, 6), normal(6), normal(7, 3))
    yield "causal", {"mask": Causal()}, (normal(1, 35, 8), normal(1, 35, 8), normal(8), normal(1, 35, 20))
    yield "padding", {"mask": Padding(lengths)}, (normal(2, 5, 5), normal(2, 70, 5), normal(5), normal(2, 70, 17))
    window = {"mask": Window(3, 1) & Padding(lengths + 1)}
    yield "window", window, (normal(2, 9, 4), normal(2, 9, 4), normal(4), normal(2, 9, 2))
    heads = normal(2, 3, 9, 5), normal(2, 3, 12, 5), normal(3, 5), normal(2, 3, 12, 8)
    yield "heads", {"mask": random.to(device)}, heads
    large = normal(2, 9, 6, scale=30), normal(2, 9, 6, scale=30), normal(6), normal(2, 9, 4)
    yield "large numbers", {}, large
    yield "wide values", {"mask": Padding(lengths)}, (normal(2, 2, 5), normal(2, 40, 5), normal(5), normal(2, 40, 700))
    half = normal(2, 9, 8), normal(2, 9, 8), normal(8), normal(2, 9, 16)
    yield "float16", {}, tuple(tensor.half() for tensor in half)  # the interpreter multiplies no bfloat16


def near(dtype):
    """Give the tolerances of a precision."""
    return {"atol": 2e-5, "rtol": 1e-4} if dtype == torch.float32 else {"atol": 0.03, "rtol": 0.03}


def compare(name, options, tensors, *, twice=True):
    """Compare context, weights, log normalizer, gradients and second derivatives with the reference in float64."""
    query, key, vector, value = (tensor.clone().requires_grad_() for tensor in tensors)
    exact = [tensor.detach().double().requires_grad_() for tensor in tensors]
    context, *others = attention(
        query, key, value, score=Additive(vector), backend="triton", return_weights=True, **options
    )
    truth, *true_others = attention(
        exact[0], exact[1], exact[3], score=Additive(exact[2]), backend="reference", return_weights=True, **options
    )
    close = near(query.dtype)
    for result, true in zip((context, *others), (truth, *true_others), strict=True):
        torch.testing.assert_close(result.double(), true, **close, msg=lambda text: f"{name}: {text}")
    arrived = torch.randn(context.shape, generator=torch.Generator().manual_seed(3)).to(context)
    gradients = torch.autograd.grad(context, (query, key, vector, value), arrived, retain_graph=True)
    expected = torch.autograd.grad(truth, exact, arrived.double(), create_graph=True)
    for gradient, true in zip(gradients, expected, strict=True):
        torch.testing.assert_close(gradient.double(), true.detach(), **close, msg=lambda text: f"{name}: {text}")
    if query.dtype == torch.float32 and twice:
        again = torch.autograd.grad(context, (query, key, vector, value), arrived, create_graph=True)
        second = torch.autograd.grad(again[0].square().sum(), (key, vector), allow_unused=True)
        truly = torch.autograd.grad(expected[0].square().sum(), (exact[1], exact[2]), allow_unused=True)
        for slope, true in zip(second, truly, strict=True):
            torch.testing.assert_close(slope.double(), true, atol=1e-4, rtol=1e-3)


def compare_requested(queries, device="cpu"):
    """Compare the gradients that reach the operands through weights and log normalizer, with dropout in between."""
    tensors = [torch.randn(2, queries, 6, device=device), torch.randn(2, 11, 6, device=device)]
    tensors += [torch.randn(1, 6, device=device), torch.randn(2, 11, 5, device=device)]
    seed = torch.tensor([5], device=device)
    leaves = [tensor.clone().requires_grad_() for tensor in tensors]
    call = Call(*leaves, Masking(lengths=torch.tensor([7, 0], device=device), high=4), seed, 0.3)
    factors = additive_op.dropped(call)
    assert 0.15 < (factors == 0).float().mean() < 0.45
    assert torch.equal(factors, additive_op.dropped(call))
    exact = [tensor.double().requires_grad_() for tensor in tensors]
    context, normalizer, weights = additive_op.attend(call, weighted=True)
    mask = call.masking.dense(2, queries, 11, torch.device(device))
    truth = attention(*exact[:2], exact[3], score=Additive(exact[2][0]), mask=mask, return_weights=True)
    dropped = truth.weights * factors @ exact[3]
    torch.testing.assert_close(context.double(), dropped, **near(torch.float32))
    by_context, by_weights = torch.randn_like(context), torch.randn_like(weights)

    def total(context, normalizer, weights):
        return (context * by_context).sum() + normalizer[normalizer > -1e9].sum() + (weights * by_weights).sum()

    gradients = torch.autograd.grad(total(context, normalizer, weights), leaves)
    expected = torch.autograd.grad(total(dropped, truth.log_normalizer, truth.weights), exact)
    for gradient, true in zip(gradients, expected, strict=True):
        torch.testing.assert_close(gradient.double(), true, **near(torch.float32))


def compare_others(device="cpu"):
    """Check concat scores, and that NaN where no one attends reaches nothing."""
    query, key = torch.randn(2, 5, 6, device=device), torch.randn(2, 7, 4, device=device)
    concat = Concat(torch.randn(6, 10, device=device), torch.randn(6, device=device))
    torch.testing.assert_close(
        attention(query, key, score=concat, backend="triton"), attention(query, key, score=concat, backend="reference")
    )
    asked = attention(query, key, score=concat, backend="triton", return_weights=True)
    torch.testing.assert_close(asked.weights.sum(-1), torch.ones(2, 5, device=device))
    additive_score = Additive(torch.randn(4, device=device))
    lengths = torch.tensor([5, 5], device=device)
    for score, queries in ((concat, query), (additive_score, query[..., :4].contiguous())):
        keys = key.clone()
        keys[:, 5:] = torch.nan
        keys.requires_grad_()
        masked = attention(queries, keys, score=score, mask=Padding(lengths), backend="triton")
        assert masked.isfinite().all()
        (gradient,) = torch.autograd.grad(masked.sum(), keys)
        assert gradient.isfinite().all()
        assert (gradient[:, 5:] == 0).all()


def check_operations(queries, device="cpu"):
    """Let torch check the registered operations: schema, fake tensors, autograd, tracing."""
    query, key = torch.randn(2, queries, 6, device=device), torch.randn(2, 7, 6, device=device)
    vector, value = torch.randn(1, 6, device=device), torch.randn(2, 7, 3, device=device)
    lengths, mask = torch.tensor([4, 7], device=device), torch.rand(2, queries, 7, device=device) > 0.3
    for who, weighted in (((None, lengths, None), False), ((mask, None, None), True)):
        operands = [tensor.clone().requires_grad_() for tensor in (query, key, vector, value)]
        inputs = (*operands, *who, -(1 << 30), 1 << 30, 0.0, weighted)
        torch.library.opcheck(additive_op.additive_attention, inputs)
    call = Call(query, key, vector, value, Masking(), None, 0.0)
    context, normalizer, _ = additive_op.attend(call, weighted=False)
    saved = context, normalizer, query, key, vector, value, None, None, None, -(1 << 30), 1 << 30, 0.0
    torch.library.opcheck(additive_op.additive_attention_backward, (torch.randn_like(context), None, None, *saved))


def main():
    torch.set_num_threads(1)
    assert os.environ["TRITON_INTERPRET"] == "1"
    true, portion, small = additive.on_device, additive_launch.SCRATCH, additive_few.SMALL
    additive.on_device = lambda tensor: True  # the interpreter computes on the CPU
    try:
        compare_requested(3)
        compare_others()
        additive_few.SMALL = 0
        for name, options, tensors in cases():
            compare(name, options, tensors)
        compare_requested(9)
        compare_others()
        check_operations(9)
        check_operations(1)
        additive_launch.SCRATCH = 1  # a block of queries at a time
        rows = torch.randn(1, 70, 2), torch.randn(1, 3, 2), torch.randn(2), torch.randn(1, 3, 2)
        compare("in portions", {}, rows, twice=False)
    finally:
        additive.on_device, additive_launch.SCRATCH, additive_few.SMALL = true, portion, small
    print("agrees")


if __name__ == "__main__":
    main()

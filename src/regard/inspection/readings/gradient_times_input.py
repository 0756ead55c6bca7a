"""Gradient × input: how much a prediction depends on each part of its input, to first order."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.layers.process_switches import without_cudnn


def gradient_times_input(
    predict: Callable[[Tensor], Float[Tensor, " rows"]],
    inputs: Float[Tensor, "rows ..."],
    *,
    baseline: Float[Tensor, "..."] | float = 0.0,
) -> Float[Tensor, "rows ..."]:
    r"""Multiply each number of an input by the gradient of a prediction with respect to it.

    $$g_{ij} = (x_{ij} - \bar x) \frac{\partial y_i}{\partial x_{ij}}$$

    where $y$ is what `predict` gives: one number for each row of `inputs`, such as the log-probability of a word, and
    $\bar x$ is `baseline`. Sum over the features of a token or the pixels of a cell, then take the absolute value:
    that is how much the prediction would change, to first order, if the part were its baseline. All rows take one
    backward pass, and gradients of parameters are left as they are.

    Reference: Denil, Demiraj and de Freitas (2014), arXiv:1412.6815; Simonyan, Vedaldi and Zisserman (2014), section 3,
    arXiv:1312.6034 (pixels); Li et al. (2016), arXiv:1506.01066.

    >>> gradient_times_input(lambda x: (x * torch.tensor([2.0, -1.0])).sum(-1), torch.ones(1, 2))
    tensor([[ 2., -1.]])
    """
    own = inputs.detach().clone().requires_grad_()
    with torch.enable_grad(), without_cudnn:
        (gradient,) = torch.autograd.grad(predict(own).sum(), own)
    return gradient * (inputs.detach() - baseline)


@contextmanager
def replaced_output(module: nn.Module, output: Tensor) -> Iterator[None]:
    """Let the first call of a module give `output` instead of its own: embeddings that gradients go to."""
    waiting = [output]  # a tied embedding is called for the target, too
    handle = module.register_forward_hook(lambda module, args, own: waiting.pop() if waiting else own)
    try:
        yield
    finally:
        handle.remove()

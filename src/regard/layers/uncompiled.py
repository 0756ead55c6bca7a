"""Functions that torch.compile must leave alone."""

import functools
import sys
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import torch

Arguments = ParamSpec("Arguments")
Output = TypeVar("Output")


def uncompiled(function: Callable[Arguments, Output]) -> Callable[Arguments, Output]:
    """Run a function as it is inside compiled code, as `torch.compiler.disable` does, but import no compiler for it.

    `torch.compiler.disable` imports the compiler where it decorates, which takes as long as importing torch.
    """
    disabled: Callable[Arguments, Output] | None = None

    @functools.wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Output:
        nonlocal disabled
        if "torch._dynamo" not in sys.modules:  # then nothing is being compiled
            return function(*args, **kwargs)
        if disabled is None:
            disabled = torch.compiler.disable(function)
        return disabled(*args, **kwargs)

    marked: Any = call
    marked._torchdynamo_disable = True  # the compiler breaks its graph here instead of tracing what is above
    return call

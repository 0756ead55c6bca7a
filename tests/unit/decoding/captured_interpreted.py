"""Captured search with every kernel in Triton's interpreter, beside eager search without one.

TRITON_INTERPRET=1 python captured_interpreted.py
"""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

import torch

from regard.attention.kernels import few_queries
from regard.config.model import TransformerSpec
from regard.decoding import Search, decode, word_choice
from regard.decoding.captured import Captured
from regard.layers.fused import choose
from regard.models import Model, build_model
from regard.models.precision import in_precision

START, END = 2, 3
TOLERANCE = {"float32": 1e-5, "bfloat16": 0.05}


@contextmanager
def with_kernels() -> Iterator[tuple[mock.Mock, mock.Mock]]:
    """Let the kernels serve a CPU; give what counts the calls of those for a table and for the choice of words."""
    attend = mock.Mock(side_effect=few_queries.attend)
    fused = mock.Mock(side_effect=word_choice.fused_choice)
    with (
        mock.patch.object(few_queries, "refusal", return_value=None),
        mock.patch.object(few_queries, "attend", attend),
        mock.patch.object(word_choice, "refusal", return_value=None),
        mock.patch.object(word_choice, "fused_choice", fused),
        mock.patch.object(choose, "DEVICES", ("cpu",)),
    ):
        yield attend, fused


def translator(norm: str) -> Model:
    torch.manual_seed(0)
    sizes = {"size": 32, "num_encoder_layers": 1, "num_decoder_layers": 2, "num_heads": 2, "feed_forward_size": 32}
    model = build_model(TransformerSpec(**sizes, norm=norm), source_vocabulary=30, target_vocabulary=300)
    with torch.no_grad():
        model.output.weight.mul_(3)
        model.output.bias[END] += 4
    return model.eval()


def compare(norm: str, precision: str, beam: int) -> float:
    """Give the largest difference of scores."""
    model = in_precision(translator(norm), precision)  # type: ignore[arg-type]
    source, lengths = torch.randint(4, 30, (3, 7)), torch.tensor([7, 2, 5])
    options = {"search": Search(beam=beam, n_best=min(2, beam), max_length=9), "start": START, "end": END}
    expected = decode(model, source, lengths, **options)
    fast = Captured(model)
    with with_kernels() as (attend, fused):
        received = decode(fast, source, lengths, **options)
    assert fast.reason is None
    assert bool(attend.call_count) == (beam > 1), "greedy search has no table"
    assert fused.call_count
    if precision == "float32":
        assert [[one.tokens for one in few] for few in received] == [[one.tokens for one in few] for few in expected]
    pairs = zip(received, expected, strict=True)
    return max(abs(few[0].score - others[0].score) for few, others in pairs)


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # the interpreter computes what is masked too
    for norm in ("pre", "post"):
        for precision, tolerance in TOLERANCE.items():
            for beam in (1, 3):
                apart = compare(norm, precision, beam)
                assert apart < tolerance, (norm, precision, beam, apart)
    print("agrees")

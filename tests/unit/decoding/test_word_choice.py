"""Words chosen from logits: by plain operations and by kernels, in an interpreter or on a GPU; and by which steps."""

import importlib.util
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.decoding import Ensemble, Sampling, Search
from regard.decoding.captured import Captured
from regard.decoding.ranking import CHUNK
from regard.decoding.shortlist import Shortlist, Shortlisted
from regard.decoding.word_choice import LogitStep, choose_words, plain_choice, refusal
from regard.errors import ArgumentError
from regard.models import Model, TransformerModel
from unit.attention.test_few_queries import on_gpu
from unit.decoding.table import Table
from unit.decoding.test_captured import END, check_same, many_sources, run, small_transformer
from unit.decoding.word_choice_interpreted import cases, compare

PROGRAM = Path(__file__).with_name("word_choice_interpreted.py")
triton = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="needs Triton")


@triton
def test_in_the_interpreter_the_kernels_agree_with_plain_operations() -> None:
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == sum(len(list(cases(dtype=dtype))) for dtype in (torch.float32, torch.bfloat16))


@triton
@pytest.mark.slow
def test_in_the_interpreter_captured_search_with_all_kernels_is_the_eager_one() -> None:
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1", "JAXTYPING_DISABLE": "1"}
    program = [sys.executable, PROGRAM.with_name("captured_interpreted.py")]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "agrees\n"), done.stderr[-3000:]


@pytest.mark.parametrize("words", [1, 5, CHUNK, 3 * CHUNK + 1])
@pytest.mark.parametrize("width", [1, 4])
def test_it_is_the_top_of_all_sums(words: int, width: int) -> None:
    start, logits = torch.randn(3, width), torch.randn(3 * width, words)
    count = min(4, width * words)
    sums = start.unsqueeze(-1) + logits.log_softmax(-1).view(3, width, words)
    parent, token, of_token = choose_words(start, logits, count)
    torch.testing.assert_close(start.gather(1, parent) + of_token, sums.flatten(1).topk(count).values)
    torch.testing.assert_close(sums.flatten(1).gather(1, parent * words + token), start.gather(1, parent) + of_token)


@triton
@pytest.mark.parametrize(
    ("width", "logits", "count", "reason"),
    [
        (5, torch.zeros(10, 700), 5, "they need a CUDA device and Triton"),
        (5, on_gpu(10, 700, dtype=torch.float64), 5, "they add up in float32"),
        (5, on_gpu(10, 0), 5, "an axis is empty"),
        (20, on_gpu(40, 700), 17, "they pick 16 words at most; 17 are wanted"),
        (1, on_gpu(2, 200), 3, "they are for 3 to 8192 chunks of 128 words for a sentence; there are 2"),
        (9, on_gpu(18, 120_000), 3, "they are for 3 to 8192 chunks of 128 words for a sentence; there are 8442"),
        (5, on_gpu(10, 16_000, dtype=torch.bfloat16), 5, None),
    ],
)
def test_what_the_kernels_do_not_serve_they_say(width: int, logits: Tensor, count: int, reason: str | None) -> None:
    assert refusal(torch.zeros(2, width), logits, count) == reason


@pytest.mark.parametrize(
    ("change", "served"),
    [
        ({}, True),
        ({"beam": 1}, True),
        ({"length_penalty": 0.0}, True),
        ({"min_length": 1}, False),
        ({"no_repeat_ngram": 2}, False),
        ({"coverage_penalty": 0.1}, False),
        ({"sampling": Sampling()}, False),
    ],
)
def test_it_is_for_searches_without_rules(change: dict[str, Any], served: bool) -> None:
    assert LogitStep.serves(small_transformer(), replace(Search(), **change)) == served


class _Cold(TransformerModel):
    """Predicts otherwise than its matrix says."""

    def step(self, *arguments: Any, **options: Any) -> Any:
        step = super().step(*arguments, **options)
        return step._replace(log_probabilities=(step.log_probabilities * 3).log_softmax(-1))


class _Halved(TransformerModel):
    """Its matrix reads other features."""

    def step_features(self, *arguments: Any, **options: Any) -> Any:
        features, *rest = super().step_features(*arguments, **options)
        return features / 2, *rest


class _Twice(_Cold):
    """Has both anew, one of them as it was."""

    def step(self, *arguments: Any, **options: Any) -> Any:
        return super().step(*arguments, **options)

    def step_features(self, *arguments: Any, **options: Any) -> Any:
        return super().step_features(*arguments, **options)


class _Around:
    """A wrapper that gives on what is asked of it."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)


def as_kind(model: Model, kind: type[TransformerModel]) -> Model:
    model.__class__ = kind
    return model


@pytest.mark.parametrize("kind", [_Cold, _Halved, _Twice])
@pytest.mark.parametrize("wrapped", [False, True])
def test_a_model_that_predicts_otherwise_is_asked_itself(kind: type[TransformerModel], wrapped: bool) -> None:
    model: Any = as_kind(small_transformer(), kind)
    model = _Around(model) if wrapped else model
    assert not LogitStep.serves(model, Search())
    with pytest.raises(ArgumentError, match="must be a network with an output matrix"):
        Shortlisted(model, Shortlist(torch.arange(8), torch.zeros(30, 2, dtype=torch.long)))
    check_same(model, Captured(model), Search(beam=3, n_best=2, max_length=6), *many_sources(5))


def test_a_model_with_a_step_of_its_own_too() -> None:
    model = small_transformer()
    usual = model.step
    model.step = lambda *arguments, **options: usual(*arguments, **options)  # type: ignore[method-assign]
    assert not LogitStep.serves(model, Search())


def test_models_without_a_matrix_are_asked_for_log_probabilities() -> None:
    for model in (Table(), Ensemble([small_transformer()]), Captured(small_transformer())):
        assert not LogitStep.serves(model, Search())


@pytest.mark.parametrize("number", [-torch.inf, torch.nan, torch.inf])
@pytest.mark.parametrize("beam", [1, 3])
def test_logits_that_are_no_numbers_give_an_output(number: float, beam: int) -> None:
    model, (source, lengths) = small_transformer(), many_sources(4)
    with torch.no_grad():
        model.output.bias[7] = number
    search = Search(beam=beam, max_length=5)
    outputs = run(Captured(model), search, source, lengths)
    assert all(outputs)
    if number == -torch.inf:
        check_same(model, Captured(model), search, source, lengths)
    else:
        assert all(len(item.tokens) <= 5 or item.tokens[-1] == END for few in outputs for item in few)


@pytest.mark.gpu
def test_on_a_gpu_the_kernels_agree(cuda: torch.device) -> None:
    for dtype in (torch.float32, torch.bfloat16):
        for name, case in cases("cuda", dtype):
            assert compare(case) < 3e-6, name
        logits = torch.randn(640, 16_000, device=cuda).mul(5).to(dtype)
        start = torch.randn(128, 5, device=cuda)
        assert compare((start, logits, 5)) < 3e-6
        torch.testing.assert_close(
            choose_words(start, logits, 5).log_probability, plain_choice(start, logits, 5).log_probability
        )

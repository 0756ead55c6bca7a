"""Masks: what each kind allows, their logic, and every lower form of them against the dense one."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from catalogue.operator import LAYOUTS, MASKS, Setting
from laws.strategies import masks
from reference.oracle import Place
from regard import Causal, Documents, Padding, Window
from regard.attention import Mask
from regard.attention.inputs import read_inputs
from regard.attention.kernels import sdpa
from regard.attention.kernels.flex_rules import mask_rule, varying_axes
from regard.attention.mask import And, Not, Or, as_mask
from regard.attention.normalize import Softmax
from regard.attention.score import Dot

FOUR_AXES = ["plain", "batch", "heads", "multi-query"]


def setting_of(layout: str, seed: int = 0, queries: int = 5, keys: int = 7) -> Setting:
    return Setting(LAYOUTS[layout], seed=seed, queries=queries, keys=keys)


def whole(mask: Any, setting: Setting) -> Tensor:
    return as_mask(mask).dense(setting.shape).expand(setting.shape)


@pytest.mark.parametrize("lengths", [(5, 7), (7, 5), (6, 6), (1, 4), (4, 1)], ids=str)
@pytest.mark.parametrize("layout", ["plain", "batch", "three axes"])
@pytest.mark.parametrize("name", [name for name in MASKS if name not in ("none", "tensor with gaps", "Padding")])
def test_a_mask_allows_what_its_rule_says(name: str, layout: str, lengths: tuple[int, int]) -> None:
    setting = setting_of(layout, queries=lengths[0], keys=lengths[1])
    mask, allowed = MASKS[name](setting)
    expected = np.zeros(setting.shape, dtype=bool)
    for *index, i, j in np.ndindex(*setting.shape):
        expected[(*index, i, j)] = allowed(Place(tuple(index), i, j, 0, 0))
    assert torch.equal(whole(mask, setting), torch.from_numpy(expected))


def by_logic(mask: Mask, setting: Setting) -> Tensor:
    """Evaluate a mask expression on the dense forms of its leaves."""
    match mask:
        case And():
            return by_logic(mask.left, setting) & by_logic(mask.right, setting)
        case Or():
            return by_logic(mask.left, setting) | by_logic(mask.right, setting)
        case Not():
            return ~by_logic(mask.inverse, setting)
    return whole(mask, setting)


settings = st.builds(setting_of, st.sampled_from(FOUR_AXES), st.integers(0, 99))


@given(st.data(), settings)
def test_and_or_not_are_the_logic_of_the_dense_forms(data: st.DataObject, setting: Setting) -> None:
    mask = data.draw(masks(setting))
    assert torch.equal(whole(mask, setting), by_logic(mask, setting))


@given(st.data(), settings)
def test_a_tensor_may_stand_on_either_side(data: st.DataObject, setting: Setting) -> None:
    mask, tensor = data.draw(masks(setting)), setting.coins(*setting.shape)
    dense = whole(mask, setting)
    assert torch.equal(whole(tensor & mask, setting), tensor & dense)
    assert torch.equal(whole(mask & tensor, setting), tensor & dense)
    assert torch.equal(whole(tensor | mask, setting), tensor | dense)
    assert torch.equal(whole(mask | tensor, setting), tensor | dense)


def ask_rule(mask: Mask, shape: tuple[int, ...]) -> Tensor:
    """Ask the rule for every index, one at a time as a kernel does."""
    axes = (1,) * (4 - len(shape)) + shape if len(shape) != 3 else (shape[0], 1, *shape[1:])
    rule = mask_rule(mask, shape, torch.device("cpu"))
    grid = torch.meshgrid(*(torch.arange(size) for size in axes), indexing="ij")
    return rule(*grid).expand(axes).reshape(shape)


@given(st.data(), settings)
def test_as_a_rule_on_indices_a_mask_is_the_same(data: st.DataObject, setting: Setting) -> None:
    mask = data.draw(masks(setting))
    assert torch.equal(ask_rule(mask, setting.shape), whole(mask, setting))


@given(st.data(), settings)
def test_the_axes_a_mask_is_said_not_to_vary_along_it_does_not(data: st.DataObject, setting: Setting) -> None:
    mask = data.draw(masks(setting))
    batch, heads = varying_axes(mask, setting.shape)
    dense = whole(mask, setting)
    if batch is None and len(setting.shape) > 2:
        assert torch.equal(dense, dense[:1].expand_as(dense))
    if heads is None and len(setting.shape) > 3:
        assert torch.equal(dense, dense[:, :1].expand_as(dense))


@pytest.mark.parametrize(
    "mask",
    [
        Padding(torch.tensor([3])),
        Documents(torch.tensor([[0, 0, 1, 1, -1]]), torch.tensor([[0, 0, 0, 1, 1, -1, 1]])),
        Causal(positions=torch.tensor([[0, 2, 4, 6, 6]])),
        Window(1, 0, positions=torch.tensor([0, 2, 4, 6, 6])),
        as_mask(torch.tensor([[[True], [False], [True], [True], [False]]])),
    ],
    ids=repr,
)
def test_one_row_for_the_whole_batch_is_shared(mask: Mask) -> None:
    shape = (4, 5, 7)
    dense = mask.dense(shape).expand(shape)
    assert torch.equal(dense, dense[:1].expand(shape))
    assert torch.equal(ask_rule(mask, shape), dense)


def lowered(mask: Mask, shape: tuple[int, ...]) -> Tensor:
    """Give what the fused kernel is told, dense again."""
    query, key = torch.zeros(*shape[:-1], 2), torch.zeros(*shape[:-2], shape[-1], 2)
    inputs = read_inputs(
        query, key, None, score=Dot(), mask=mask, bias=None, position=None, normalize=Softmax(), dropout=0.0,
        generator=None, grouped=False,
    )  # fmt: skip
    causal, masked = sdpa.lower_mask(inputs)
    assert not (causal and masked)
    if causal:
        return torch.ones(shape, dtype=torch.bool).tril()
    dense = inputs.dense_mask()
    return dense.expand(shape) if masked and dense is not None else torch.ones(shape, dtype=torch.bool)


@given(st.data(), settings)
def test_lowered_to_the_fused_kernel_a_mask_is_the_same(data: st.DataObject, setting: Setting) -> None:
    mask = data.draw(masks(setting))
    assert torch.equal(lowered(mask, setting.shape), whole(mask, setting))


@pytest.mark.parametrize("align", ["end", "start"])
@pytest.mark.parametrize("lengths", [(5, 5), (1, 5), (5, 1), (3, 5), (5, 3), (1, 1), (17, 17), (16, 17)], ids=str)
def test_the_kernels_own_causal_path_is_the_same(align: Any, lengths: tuple[int, int]) -> None:
    mask, shape = Causal(align=align), (2, *lengths)
    assert torch.equal(lowered(mask, shape), mask.dense(shape).expand(shape))


def test_causal_ends_or_starts_align() -> None:
    assert Causal().dense((2, 4)).int().tolist() == [[1, 1, 1, 0], [1, 1, 1, 1]]
    assert Causal(align="start").dense((2, 4)).int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0]]
    assert Causal().dense((4, 2)).int().tolist() == [[0, 0], [0, 0], [1, 0], [1, 1]]


@pytest.mark.parametrize("mask", [Causal(), Window(0, 0), Padding(torch.tensor([2, 1])), Not(Causal())], ids=repr)
@pytest.mark.parametrize("lengths", [(0, 3), (3, 0), (0, 0)], ids=str)
def test_masks_of_nothing_are_empty(mask: Mask, lengths: tuple[int, int]) -> None:
    shape = (2, *lengths)
    assert mask.dense(shape).expand(shape).shape == shape

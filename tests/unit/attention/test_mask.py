"""Masks as values: how they read, and masks made for torch."""

import pytest
import torch

from regard import Causal, Documents, Padding, Window, attention, from_torch_mha
from regard.attention.mask import as_mask


def test_masks_read_as_they_are_written() -> None:
    mask = (Causal() & ~Window(2, None)) | torch.ones(1, 3, dtype=torch.bool)
    text = repr(mask)
    assert text == (
        "((Causal(align='end', positions=None) & ~Window(left=2, right=None, align='end', positions=None)) "
        "| Dense(1, 3))"
    )


def test_a_tensor_first_is_a_mask_too() -> None:
    tensor = torch.rand(5, 5) < 0.5
    assert torch.equal((tensor & Causal()).dense((5, 5)), tensor.tril())
    assert torch.equal((tensor | Causal()).dense((5, 5)), tensor | torch.ones(5, 5, dtype=torch.bool).tril())


def test_a_mask_does_not_grow_where_it_does_not_vary() -> None:
    assert Causal().dense((8, 4, 5, 7)).shape == (5, 7)
    assert Padding(torch.tensor([1, 2])).dense((2, 4, 5, 7)).shape == (2, 1, 1, 7)
    assert Padding(torch.tensor(3)).dense((2, 4, 5, 7)).shape == (1, 7)
    assert (Causal() & Padding(torch.tensor([1, 2]))).dense((2, 4, 5, 7)).shape == (2, 1, 5, 7)


def test_packed_documents_are_numbered() -> None:
    assert Documents.of_lengths([2, 0, 3]).ids.tolist() == [0, 0, 2, 2, 2]
    assert Documents.of_lengths([]).ids.tolist() == []


def test_negative_ids_are_padding() -> None:
    ids = torch.tensor([0, 0, -1, -1])
    context = attention(torch.randn(4, 3), torch.randn(4, 3), mask=Documents(ids))
    assert context[:2].any()
    assert not context[2:].any()


@pytest.mark.parametrize("dtype", [torch.int16, torch.int32, torch.int64], ids=str)
def test_any_integers_will_do(dtype: torch.dtype) -> None:
    lengths, ids = torch.tensor([3, 0]).to(dtype), torch.tensor([0, 1, 1, 2, 2]).to(dtype)
    assert Padding(lengths).dense((2, 1, 4)).tolist() == [[[True, True, True, False]], [[False] * 4]]
    same = Documents(ids.long()).dense((5, 5))
    assert torch.equal(Documents(ids).dense((5, 5)), same)


def test_lengths_beyond_the_keys_allow_all() -> None:
    assert Padding(torch.tensor([9, -1])).dense((2, 1, 4)).tolist() == [[[True] * 4], [[False] * 4]]


def test_masks_of_torch_are_turned_round() -> None:
    pairs, keys, heads = torch.rand(5, 7) < 0.5, torch.rand(2, 7) < 0.5, torch.rand(6, 5, 7) < 0.5
    assert torch.equal(from_torch_mha(pairs), ~pairs)
    assert torch.equal(from_torch_mha(key_padding_mask=keys), ~keys[:, None, None, :])
    assert torch.equal(from_torch_mha(heads, num_heads=3), ~heads.view(2, 3, 5, 7))
    both = from_torch_mha(pairs, key_padding_mask=keys)
    assert torch.equal(both, ~(pairs | keys[:, None, None, :]))
    assert as_mask(both).dense((2, 3, 5, 7)).shape == (2, 1, 5, 7)

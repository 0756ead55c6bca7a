import random
import re

import pytest
import torch

from regard import attention
from regard.errors import ArgumentError, ArgumentTypeError
from regard.layers.position.structural import (
    StructuralPositions,
    StructuralRelations,
    tree_depths,
    tree_distances,
    tree_relations,
)

CAT = [1, 2, -1, 4, 2]  # The cat chased the mouse


def random_heads(length: int, seed: int) -> list[int]:
    generator = random.Random(seed)
    order = generator.sample(range(length), length)
    heads = [-1] * length
    for rank, word in enumerate(order[1:], start=1):
        heads[word] = order[generator.randrange(rank)]
    return heads


def way_up(heads: list[int], word: int) -> list[int]:
    way = [word]
    while heads[way[-1]] not in (-1, way[-1]):
        way.append(heads[way[-1]])
    return way


def distance_by_hand(heads: list[int], i: int, j: int) -> int:
    """Walk up from both words to where the ways meet; two trees meet at an unseen node above their roots."""
    up, other = way_up(heads, i), way_up(heads, j)
    meeting = next((word for word in up if word in other), None)
    return len(up) + len(other) if meeting is None else up.index(meeting) + other.index(meeting)


def relation_by_hand(heads: list[int], i: int, j: int) -> int:
    """Wang et al., section 3, as printed."""
    depth_i, depth_j = len(way_up(heads, i)) - 1, len(way_up(heads, j)) - 1
    if heads[i] == j or heads[j] == i:
        return depth_i - depth_j
    return ((i > j) - (i < j)) * (depth_i + depth_j)


TREES = [CAT, [-1], [0], [-1, 0, 1, 2, 3, 4, 5, 6], [0, 0, 1, -1, 3], *(random_heads(n, n) for n in (2, 7, 16, 33))]


@pytest.mark.parametrize("heads", TREES)
def test_depths_distances_and_relations_by_walking(heads):
    words, given = range(len(heads)), torch.tensor(heads)
    assert tree_depths(given).tolist() == [len(way_up(heads, i)) - 1 for i in words]
    distances = [[distance_by_hand(heads, i, j) for j in words] for i in words]
    assert tree_distances(given).tolist() == distances
    printed = [[relation_by_hand(heads, i, j) if i != j else 0 for j in words] for i in words]
    assert tree_relations(given).tolist() == printed
    path = [[((i > j) - (i < j)) * distances[i][j] for j in words] for i in words]
    assert tree_relations(given, rule="path").tolist() == path


def test_a_batch_with_padding_is_its_rows():
    rows = [CAT, [-1, 0, 0], []]
    heads = torch.tensor([row + [99] * (5 - len(row)) for row in rows])  # whatever stands in the padding
    lengths = torch.tensor([len(row) for row in rows])
    for function in (tree_depths, tree_distances, tree_relations):
        batch = function(heads, lengths)
        for result, row in zip(batch, rows, strict=True):
            alone = function(torch.tensor(row, dtype=torch.long))
            inside = (slice(len(row)),) * alone.ndim
            assert torch.equal(result[inside], alone)
            assert result.sum() == alone.sum()  # padding is zero


def test_long_sentences_are_counted_right_under_autocast():
    chain = torch.arange(-1, 599)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        distances = tree_distances(chain)
    assert torch.equal(distances[0], torch.arange(600))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("heads", "lengths", "message"),
    [
        (
            [[1, 0, -1]],
            None,
            "`heads` must lead every word up to a root; received a cycle at or above word 0 of row 0.",
        ),
        ([-1, 2, 3, 1], None, "received a cycle at or above word 1."),
        (
            [[-1, 0, 0], [2, 2, 3]],
            None,
            "`heads` must be from −1 (a root) to 2, the last word; received 3 for word 2 of row 1. CoNLL files count",
        ),
        ([[-1, 2, 0]], [2], "to 1, the last word; received 2 for word 1 of row 0."),
        ([-2], None, "received -2 for word 0."),
        ([[-1]], [1, 1], "`lengths` must have one number per row of `heads`, shape (1,); received (2,)."),
    ],
)
def test_bad_trees(heads, lengths, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        tree_depths(torch.tensor(heads), None if lengths is None else torch.tensor(lengths))


@pytest.mark.usefixtures("unchecked")
def test_heads_must_be_integers():
    with pytest.raises(ArgumentTypeError, match=re.escape("`heads` must be a tensor of integers; received torch.bool")):
        tree_depths(torch.tensor([True, False]))


def test_positions_fuse_place_and_depth():
    layer = StructuralPositions(6).double()
    embedding, heads = torch.randn(1, 5, 6).double(), torch.tensor([CAT])
    table = layer.places.table(9)
    for t, depth in enumerate([2, 1, 0, 2, 1]):
        fused = torch.tanh(layer.fuse.weight @ torch.cat([table[t], table[depth]]) + layer.fuse.bias)
        torch.testing.assert_close(layer(embedding, heads)[0, t], embedding[0, t] + fused)


def test_positions_of_depth_alone_learned_or_not():
    heads = torch.tensor([-1, 0, 1, 2])
    waves = StructuralPositions(4, sequential=False)
    torch.testing.assert_close(waves(torch.zeros(4, 4), heads), waves.places.table(4, dtype=torch.float32))
    learned = StructuralPositions(4, max_depth=2, sequential=False)
    assert torch.equal(learned(torch.zeros(4, 4), heads), learned.depths[[0, 1, 2, 2]])
    assert list(learned.state_dict()) == ["depths"]
    assert list(StructuralPositions(4).state_dict()) == ["fuse.weight", "fuse.bias"]


@pytest.mark.parametrize("rule", ["printed", "path"])
@pytest.mark.parametrize("num_heads", [None, 2])
def test_relations_are_shaws_with_the_trees_distances(rule, num_heads):
    layer = StructuralRelations(3, key_size=4, value_size=5, rule=rule).double()
    rows = [CAT, [-1, 0, 0, 2, 3]]
    lead = (2,) if num_heads is None else (2, num_heads)
    query, key, value = (torch.randn(*lead, 5, width).double() for width in (4, 4, 5))
    context = attention(query, key, value, position=layer(torch.tensor(rows)))
    for index in torch.cartesian_prod(*(torch.arange(n) for n in lead)).view(-1, len(lead)).tolist():
        tree, at = rows[index[0]], tuple(index)
        for i in range(5):
            if rule == "printed":
                relation = [relation_by_hand(tree, i, j) for j in range(5)]
            else:
                relation = [((i > j) - (i < j)) * distance_by_hand(tree, i, j) for j in range(5)]
            picked = [max(-3, min(3, r)) + 3 for r in relation]
            scores = (key[at] + layer.tables.keys[picked]) @ query[at][i] / 2
            expected = scores.softmax(0) @ (value[at] + layer.tables.values[picked])
            torch.testing.assert_close(context[at][i], expected)


@pytest.mark.usefixtures("unchecked")
def test_one_tree_serves_every_row_and_a_wrong_one_is_named():
    layer = StructuralRelations(2, key_size=4)
    x = torch.randn(3, 5, 4)
    one, each = layer(torch.tensor(CAT)), layer(torch.tensor([CAT] * 3))
    torch.testing.assert_close(attention(x, x, position=one), attention(x, x, position=each))
    message = "`heads` must speak of the same words as query and key, (batch, query, key) = (3, 5, 5); received"
    with pytest.raises(ArgumentError, match=re.escape(f"{message} relations of shape (2, 5, 5).")):
        attention(x, x, position=layer(torch.tensor([CAT] * 2)))
    with pytest.raises(ArgumentError, match=re.escape("received relations of shape (3, 3).")):
        attention(x, x, position=layer(torch.tensor([-1, 0, 0])))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: StructuralPositions(5), "`size` must be even"),
        (
            lambda: StructuralPositions(4, max_depth=-1),
            "`max_depth` must be zero or more, or None for waves; received -1.",
        ),
        (
            lambda: StructuralPositions(4)(torch.zeros(1, 3, 4), torch.tensor([CAT])),
            "`embedding` must have shape (*batch, words, size) = (1, 5, 4) to go with `heads`; received (1, 3, 4).",
        ),
        (lambda: StructuralRelations(-1, 4), "`reach` must be the largest distance that is distinguished"),
        (
            lambda: StructuralRelations(1, 4, rule="paths"),
            '`rule` must be one of printed, path; received "paths". Did you mean path?',
        ),
    ],
)
def test_bad_settings(call, message):
    with pytest.raises(ArgumentError, match=re.escape(message)):
        call()

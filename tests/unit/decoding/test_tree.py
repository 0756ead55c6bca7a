"""The beam tree: what was considered, and that looking changes nothing."""

import torch

from regard.decoding import BeamTree, Search, beam_tree, decode
from unit.decoding.table import END, LENGTHS, SOURCE, START, Table

SEARCH = Search(beam=3, n_best=2, max_length=8)


def path(tree: BeamTree, step: int, place: int) -> tuple[int, ...]:
    """Follow the parents of a candidate."""
    tokens = []
    for number in range(step, -1, -1):
        one = tree.steps[number][place]
        tokens.append(one.token)
        place = one.parent
    return tuple(reversed(tokens))


def test_the_outputs_are_leaves_of_the_tree() -> None:
    model = Table(9)
    outputs = decode(model, SOURCE, LENGTHS, search=SEARCH, start=START, end=END)
    trees = beam_tree(model, SOURCE, LENGTHS, search=SEARCH, start=START, end=END)
    assert len(trees) == len(outputs) == 6
    for tree, row in zip(trees, outputs, strict=True):
        leaves = {
            path(tree, number, place): one.score
            for number, step in enumerate(tree.steps)
            for place, one in enumerate(step)
            if one.ended
        }
        best = sorted(leaves.items(), key=lambda leaf: -leaf[1])[:2]
        assert best == [(one.tokens, one.score) for one in row]


def test_what_was_cut_off_is_there_too() -> None:
    (tree,) = beam_tree(Table(9), SOURCE[:1], LENGTHS[:1], search=SEARCH, start=START, end=END, pruned=4)
    finished = 0
    for number, step in enumerate(tree.steps):
        kept = [one.kept for one in step]
        places = SEARCH.beam - finished
        assert kept == [True] * places + [False] * 4
        finished += sum(one.ended for one in step)
        assert [one.score for one in step] == sorted((one.score for one in step), reverse=True)
        if number:
            assert all(tree.steps[number - 1][one.parent].kept for one in step)
            assert not any(tree.steps[number - 1][one.parent].ended for one in step)
    torch.testing.assert_close(tree.steps[0][0].score, tree.steps[0][0].log_probability)

"""Weights as text."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from regard.errors import ArgumentError
from regard.inspection.drawing.text_matrix import draw_weights, legend

WORDS = st.lists(st.text(alphabet="abcde日本é-", min_size=1, max_size=20), min_size=1, max_size=25)


def test_every_shade_has_its_block():
    weights = torch.tensor([[0.0, 0.05, 0.25, 0.5, 0.75, 1.0]])
    assert draw_weights(weights, list("abcdef"), ["word"])[-1] == "word · ░░▒▒▓▓████"


def test_masked_cells_are_empty():
    lines = draw_weights(
        torch.tensor([[1.0, 0.0], [0.0, 1.0]]), ["a", "b"], ["a", "b"], mask=torch.ones(2, 2).tril().bool()
    )
    assert lines[-2:] == ["a ██", "b · ██"]


def test_the_legend_names_every_sign_and_keeps_to_the_width():
    line = "· < 0.05 ≤ ░ < 0.25 ≤ ▒ < 0.5 ≤ ▓ < 0.75 ≤ █"
    assert legend() == line
    assert legend(masked=True) == f"{line}   (empty: masked)"
    assert legend(masked=True, width=50) == line
    assert legend(width=20) == ""


def test_stems_lead_from_words_to_columns():
    lines = draw_weights(torch.eye(3), ["un", "perro", "negro"], ["a", "black", "dog"])
    assert lines == [
        "      ╭ un",
        "      │ ╭ perro",
        "      │ │ ╭ negro",
        "    a ██· ·",
        "black · ██·",
        "  dog · · ██",
    ]


def test_twenty_words_fit_eighty_columns():
    source, target = [f"palabra-{number}" for number in range(20)], ["translation"] * 20
    lines = draw_weights(torch.eye(20), source, target)
    assert max(map(cell_len, lines)) <= 80
    assert not any("…" in line for line in lines)


def test_more_words_end_in_an_ellipsis():
    lines = draw_weights(torch.eye(40), [f"w{number}" for number in range(40)], ["t"] * 40, width=40)
    assert lines[14].endswith("│ … 26 more")
    assert lines[15] == "t ██" + "· " * 13 + "…"
    assert len(lines) == 15 + 40


@settings(max_examples=25)
@given(WORDS, WORDS, st.integers(20, 70))
def test_no_line_is_wider_than_asked(source, target, width):
    lines = draw_weights(torch.ones(len(target), len(source)), source, target, width=width)
    assert max(map(cell_len, lines)) <= width
    assert len({cell_len(line.partition("█")[0]) for line in lines[-len(target) :]}) == 1


def test_words_cannot_command_the_terminal():
    lines = draw_weights(torch.ones(1, 1), ["\x1b[2J\n"], ["\ta\u202e"])
    assert lines == ["    ╭ �[2J�", "�a� ██"]


def test_nothing_is_drawn_of_nothing():
    assert draw_weights(torch.zeros(0, 0), [], []) == []
    assert draw_weights(torch.zeros(1, 0), [], ["a"]) == ["a"]


def test_labels_must_match_the_weights():
    message = (
        r"`weights` must have a row for each of the 2 target words and a column for each of the 3 source words; "
        r"received \(3, 2\)."
    )
    with pytest.raises(ArgumentError, match=message):
        draw_weights(torch.ones(3, 2), ["a", "b", "c"], ["d", "e"])

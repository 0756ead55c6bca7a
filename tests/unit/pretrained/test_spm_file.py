"""SentencePiece models, read from their bytes, hold what the package sentencepiece finds in them."""

import re

import pytest

from regard.errors import DataError
from regard.pretrained.spm_file import read_sentencepiece
from unit.pretrained.marian_folders import processor, trained


@pytest.mark.parametrize("side", ["source", "target"])
def test_pieces_and_scores(side, tmp_path):
    path = tmp_path / "a.spm"
    path.write_bytes(trained(side))
    model, reference = read_sentencepiece(path), processor(side)
    count = reference.get_piece_size()
    assert [item.text for item in model.pieces] == [reference.id_to_piece(number) for number in range(count)]
    assert [item.score for item in model.pieces] == [reference.get_score(number) for number in range(count)]
    assert [item.matches_text for item in model.pieces[:4]] == [False, False, False, True]
    assert model.character_map
    assert (model.add_dummy_prefix, model.remove_extra_whitespaces, model.byte_fallback) == (True, True, False)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "must have pieces; received none."),
        (b"\x0a\x05ab", "must be a SentencePiece model; received: a field of 5 bytes where 2 are left."),
        (b"\xff" * 20, "must be a SentencePiece model; received: a number of more than ten bytes."),
        (b"\x0b", "must be a SentencePiece model; received: a field of kind 3."),
        (b"\x0a\x02\x10\x80", "must be a SentencePiece model; received: an end within a number."),
        (b"\x12\x02\x18\x02", "must be a unigram model with spaces before words; received BPE."),
        (b"\x0a\x05\x15\x00\x00\xc0\x7f", "must be a SentencePiece model; received: a piece whose score is nan."),
    ],
)
def test_damage(content, message, tmp_path):
    path = tmp_path / "a.spm"
    path.write_bytes(content)
    with pytest.raises(DataError, match=re.escape(f"{path} {message}")):
        read_sentencepiece(path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match=r"must be a file that can be read; received: No such file"):
        read_sentencepiece(tmp_path / "a.spm")

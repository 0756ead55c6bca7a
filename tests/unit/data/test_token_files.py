import json

import numpy as np
import pytest

from regard.data.batches.pairs import Batches, Examples
from regard.data.batches.ragged import Ragged
from regard.data.corpora.token_files import TokenFiles

PORTIONS = [
    (Ragged.from_lists([[5, 6], []]), Ragged.from_lists([[7], [8, 9]])),
    (Ragged.from_lists([[10]]), Ragged.from_lists([[11, 12, 13]])),
]


def test_what_was_written_is_mapped_and_makes_the_same_batches(tmp_path):
    files = TokenFiles(tmp_path / "new" / "tokens")
    assert files.open(mark="a") is None
    files.write(PORTIONS, mark="a")
    found = files.open(mark="a")
    assert [found.source[n].tolist() for n in range(3)] == [[5, 6], [], [10]]
    assert [found.target[n].tolist() for n in range(3)] == [[7], [8, 9], [11, 12, 13]]
    assert not found.source.values.flags.owndata  # mapped, not read
    held = Examples(source=Ragged.from_lists([[5, 6], [], [10]]), target=Ragged.from_lists([[7], [8, 9], [11, 12, 13]]))
    for one, other in zip(Batches(held, tokens=9), Batches(found, tokens=9), strict=True):
        assert one.source.tolist() == other.source.tolist()
        assert one.target_output.tolist() == other.target_output.tolist()


def test_files_that_are_half_or_of_something_else_are_not_opened(tmp_path):
    files = TokenFiles(tmp_path)
    files.write(PORTIONS, mark="a")
    assert files.open(mark="b") is None
    with (tmp_path / "source.tokens").open("ab") as file:
        file.write(b"\0\0\0\0")
    assert files.open(mark="a") is None
    files.write(PORTIONS, mark="a")
    (tmp_path / "tokens.json").write_text("{")
    assert files.open(mark="a") is None

    def failing():
        yield PORTIONS[0]
        raise OSError(28, "No space left on device")

    files.write(PORTIONS, mark="a")
    with pytest.raises(OSError, match="No space left"):
        files.write(failing(), mark="a")
    assert files.open(mark="a") is None


def test_sentences_without_tokens_can_be_kept(tmp_path):
    files = TokenFiles(tmp_path)
    files.write([(Ragged.from_lists([[]]), Ragged.from_lists([[]]))], mark="a")
    assert files.open(mark="a").source.lengths.tolist() == [0]
    assert json.loads(files.note.read_text())["source.ends"] == 16
    assert files.open(mark="a").source.values.dtype == np.int32

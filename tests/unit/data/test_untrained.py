"""Tokens that never occurred on a side: counted, kept in a file, and read as unknown."""

import json
import pickle

import pytest

from regard.data.batches.pairs import Examples
from regard.data.batches.ragged import Ragged
from regard.data.corpora.pair import Pair
from regard.data.text.special import UNKNOWN
from regard.data.text.tokenizer import TokenizerPair
from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizers
from regard.data.untrained import FILE, Untrained
from regard.errors import DataError

PAIRS = [Pair(source="Soy de Canadá", target="I am from Canada")] * 2


@pytest.fixture(scope="module", params=["word", "bpe", "byte"])
def sides(request):
    return train_tokenizers(PAIRS, TokenizerConfig(kind=request.param, vocabulary_size=1000))


@pytest.fixture(scope="module")
def untrained(sides):
    encoded = (side.encode_batch([text]) for side, text in zip(sides, (PAIRS[0].source, PAIRS[0].target), strict=True))
    source, target = encoded
    return Untrained.of_corpora([Examples(source=source, target=target)], sides)


def test_each_side_lists_what_it_never_has(sides, untrained):
    for side, text, lacking in zip(sides, (PAIRS[0].source, PAIRS[0].target), untrained, strict=True):
        assert lacking == set(range(4, side.size)) - set(side.encode(text).ids)


def test_marked_tokens_are_encoded_as_unknown_one_for_one(sides, untrained):
    marked = untrained.mark(sides)
    assert marked.joint
    assert marked.to_json() == sides.to_json()
    text = "I am de Canada"
    for plain, side, lacking in zip(sides, marked, untrained, strict=True):
        before, after = plain.encode(text), side.encode(text)
        assert after.words == before.words
        assert after.ids == [UNKNOWN if token in lacking else token for token in before.ids]
        assert side.encode_batch([text, ""])[0].tolist() == after.ids
        again = pickle.loads(pickle.dumps(side))
        assert (again.encode(text), again.untrained) == (after, lacking)


def test_what_is_written_is_read(sides, untrained, tmp_path):
    untrained.save(tmp_path)
    assert Untrained.load(tmp_path, sides) == untrained
    assert set(json.loads((tmp_path / FILE).read_text())) == {"source", "target"}


def test_a_folder_without_the_file_has_learned_every_token(sides, tmp_path):
    assert Untrained.load(tmp_path, sides) == Untrained()
    assert Untrained().mark(sides).source.encode("Canada") == sides.source.encode("Canada")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"untrained\.json must be JSON; received: "),
        ("[]", r"untrained\.json must hold a table of settings; received a list of 0\."),
        ('{"source": []}', r"untrained\.json must have the key target; received "),
        ('{"source": 5, "target": []}', r"untrained\.json: source must be a list; received 5\."),
        ('{"source": [], "target": [true]}', r"target\[0\] must be a whole number from 4 to [\d,]+; received true\."),
        ('{"source": [1], "target": []}', r"source\[0\] must be a whole number from 4 to [\d,]+; received 1\."),
        ('{"source": [], "target": [99999]}', r"target\[0\] must be a whole number from 4 to [\d,]+; received 99999\."),
    ],
)
def test_other_files_are_refused(sides, tmp_path, content, message):
    (tmp_path / FILE).write_text(content)
    with pytest.raises(DataError, match=message):
        Untrained.load(tmp_path, sides)


def test_several_models_lack_what_all_lack_and_shared_vectors_what_neither_side_has():
    one, other = Untrained(frozenset({5, 6}), frozenset({7})), Untrained(frozenset({6, 7}), frozenset({7, 8}))
    assert Untrained.common([one, other]) == (frozenset({6}), frozenset({7}))
    assert other.merge_sides() == (frozenset({7}), frozenset({7}))


def test_a_corpus_of_nothing_trains_nothing():
    sides = train_tokenizers(PAIRS, TokenizerConfig(kind="word"))
    nothing = Ragged.from_lists([])
    assert isinstance(sides, TokenizerPair)
    lacking = Untrained.of_corpora([Examples(source=nothing, target=nothing)], sides)
    assert lacking.source == set(range(4, sides.source.size))

"""The shortlist of output words: what is on it, and that search gives tokens of the whole vocabulary."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from catalogue.models import MODELS, example
from regard.data.text.special import SPECIAL_TOKENS
from regard.decoding import Search, decode
from regard.decoding.shortlist import FILE, SPECIAL, Shortlist, Shortlisted, ShortlistedMemory
from regard.errors import ArgumentError, DataError
from regard.models.precision import in_precision
from unit.decoding.table import Table

ROWS = {row.name: row for row in MODELS}
NAMES = ("transformer-tiny", "bahdanau", "transformer untied")


def every_word(model: torch.nn.Module) -> Shortlist:
    return Shortlist(torch.arange(model.output.out_features), torch.zeros(50, 1, dtype=torch.long))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_with_every_word_on_the_list_it_is_the_model(name: str, precision: str) -> None:
    model, (source, lengths, _) = in_precision(ROWS[name].build(torch.float32), precision), example()
    options = {"search": Search(beam=3, n_best=2, max_length=6), "start": 2, "end": 3}
    expected = decode(model, source, lengths, **options)
    received = decode(Shortlisted(model, every_word(model)), source, lengths, **options)
    for few, others in zip(received, expected, strict=True):
        assert [item.tokens for item in few] == [item.tokens for item in others]
        assert [item.score for item in few] == pytest.approx([item.score for item in others], abs=1e-5)


def test_outputs_are_words_of_the_list_and_their_probabilities_add_up_to_one() -> None:
    model, (source, lengths, _) = ROWS["transformer-tiny"].build(torch.float32), example()
    words = [0, 1, 2, 3, 6, 9]
    fast = Shortlisted(model, Shortlist(torch.tensor(words), torch.zeros(50, 1, dtype=torch.long)))
    outputs = decode(fast, source, lengths, search=Search(beam=2, max_length=8, min_length=4), start=2, end=3)
    assert {token for few in outputs for item in few for token in item.tokens} <= set(words)
    assert all(len(item.tokens) >= 5 for few in outputs for item in few), "the end token keeps its number"
    memory = fast.encode(source, lengths)
    predicted, _, _ = fast.step(torch.full((len(source), 1), 2), fast.start(memory), memory)
    assert predicted.shape[-1] == len(words)
    torch.testing.assert_close(predicted.exp().sum(-1), torch.ones(len(source), 1))


def test_weights_are_there_as_without_it() -> None:
    model, (source, lengths, _) = ROWS["bahdanau"].build(torch.float32), example()
    fast = Shortlisted(model, every_word(model))
    options = {"search": Search(beam=2, max_length=5), "start": 2, "end": 3, "weights": True}
    for few, others in zip(
        decode(fast, source, lengths, **options), decode(model, source, lengths, **options), strict=True
    ):
        torch.testing.assert_close(few[0].weights, others[0].weights)


def test_the_special_tokens_are_those_of_every_vocabulary() -> None:
    assert len(SPECIAL_TOKENS) == SPECIAL


def test_a_batch_gets_the_words_of_its_own_sources() -> None:
    shortlist = Shortlist(torch.tensor([0, 1, 2, 3, 8]), torch.tensor([[0, 0]] * 4 + [[11, 8], [6, 0], [7, 9]]))
    assert shortlist.words(torch.tensor([[4, 5, 3], [4, 3, 0]])).tolist() == [0, 1, 2, 3, 6, 8, 11]


def test_memory_keeps_its_words_when_sentences_leave() -> None:
    model, (source, lengths, _) = ROWS["transformer-tiny"].build(torch.float32), example()
    memory = Shortlisted(model, every_word(model)).encode(source, lengths)
    fewer = memory.select(torch.tensor([2]))
    assert isinstance(fewer, ShortlistedMemory)
    assert (memory.rows, fewer.rows) == (4, 1)
    assert fewer.words is memory.words


def test_it_is_learned_from_pairs() -> None:
    sources = [[4, 5], [4, 6], [7, 6], [7]] * 4
    targets = [[14, 15], [14, 16], [17, 16], [17]] * 4
    learned = Shortlist.learn(sources, targets, source_vocabulary=8, common=2, each=2)
    assert learned.table[:, 0].tolist() == [0, 0, 0, 0, 14, 15, 16, 17]
    assert learned.common.tolist() == [0, 1, 2, 3, 14, 16], "the special tokens and the two commonest"
    with pytest.raises(ArgumentError, match="`sources` must hold at least one sentence; received none"):
        Shortlist.learn([], [], source_vocabulary=8)


def test_a_model_without_an_output_matrix_is_refused() -> None:
    with pytest.raises(ArgumentError, match="`model` must be a network with an output matrix; received Table"):
        Shortlisted(Table(), Shortlist(torch.arange(4), torch.zeros(5, 1, dtype=torch.long)))


def test_it_is_written_and_read(tmp_path: Path) -> None:
    shortlist = Shortlist(torch.arange(6), torch.tensor([[1, 7], [0, 3]]))
    shortlist.save(tmp_path)
    loaded = Shortlist.load(tmp_path, vocabularies=(2, 8))
    assert all(torch.equal(one, other) for one, other in zip(loaded, shortlist, strict=True))


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        (
            {"common": torch.arange(6)},
            r"must hold common, a list, and table, 2 rows, in I32; received common I64 \[6\]",
        ),
        ({"common": torch.arange(6).int(), "table": torch.zeros(3, 2).int()}, r"table I32 \[3, 2\]"),
        ({"common": torch.arange(4).int(), "table": torch.full((2, 2), 8).int()}, "received numbers from 0 to 8"),
        ({"common": torch.arange(4).int(), "table": torch.full((2, 2), -1).int()}, "received numbers from -1 to 3"),
        ({"common": torch.arange(2).int(), "table": torch.zeros(2, 2).int()}, "in common all 4 special ones"),
        ({"common": torch.arange(4).int(), "table": torch.zeros(2, 0).int()}, None),
    ],
)
def test_a_damaged_file_is_refused(tmp_path: Path, tensors: dict[str, torch.Tensor], message: str | None) -> None:
    save_file(tensors, tmp_path / FILE)
    if message is None:
        assert Shortlist.load(tmp_path, vocabularies=(2, 8)).table.numel() == 0
        return
    with pytest.raises(DataError, match=message):
        Shortlist.load(tmp_path, vocabularies=(2, 8))


def test_a_folder_without_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"`shortlist` must be False for a model without shortlist.safetensors"):
        Shortlist.load(tmp_path, vocabularies=(2, 8))
    (tmp_path / FILE).write_bytes(b"nothing of the kind")
    with pytest.raises(DataError, match="must be a safetensors file"):
        Shortlist.load(tmp_path, vocabularies=(2, 8))

"""Marian folders, read into ours: the same pieces, the same logits, the same greedy outputs; damage is one error."""

import json
import warnings
from contextlib import suppress
from pathlib import Path

import pytest
import torch

import regard
from fuzz.mutate import mutations, within
from regard.data.text.special import END, PAD, START
from regard.decoding import greedy
from regard.errors import DataError, RegardError
from regard.export.folder import export
from regard.files import read_json
from regard.pretrained.marian import _read_settings, is_marian, read_marian
from regard.pretrained.marian_tokenizers import read_sides
from unit.pretrained.marian_folders import CODE, SENTENCES, make_marian

pytestmark = pytest.mark.usefixtures("unchecked")
TEXTS = [*SENTENCES["source"], "el  libro ", f"{CODE} la casa", "XY el", "ﬁn"]


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("marian")
    make_marian(folder)
    return folder


def sides_of(folder):
    _, ids, sizes = _read_settings(read_json(folder / "config.json"))
    return read_sides(folder, ids, sizes)


def theirs_tokenizer(folder):
    from transformers import MarianTokenizer

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it recommends another package
        files = {name: str(folder / f"{name}.spm") for name in ("source", "target")}
        target = str(folder / "target_vocab.json")
        separate = {"separate_vocabs": True, "target_vocab_file": target} if Path(target).is_file() else {}
        return MarianTokenizer(
            source_spm=files["source"], target_spm=files["target"], vocab=str(folder / "vocab.json"), **separate
        )


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"activation_function": "relu"},
        {"activation_function": "gelu", "scale_embedding": False},
        {"separate": True},
        {"separate": True, "tie_word_embeddings": False},
        {"lacking": ("▁la", "▁the")},
    ],
    ids=str,
)
def test_logits_and_greedy_outputs_agree(settings, tmp_path):
    model = make_marian(tmp_path, **settings)
    ours = read_marian(tmp_path)
    source, target = sides_of(tmp_path)
    marked = ours.untrained.mark(ours.tokenizers)
    for text in SENTENCES["source"]:
        ids = marked.source.encode(text).ids
        tokens = torch.tensor([[*ids, END]])
        hugging = torch.tensor([[*(source.rows[number] for number in ids), 0]])
        follow = [number for number in range(4, 12) if number not in target.outside]
        with torch.no_grad():
            given = torch.tensor([[model.config.pad_token_id, *(target.rows[number] for number in follow)]])
            expected = model(input_ids=hugging, decoder_input_ids=given).logits
            lengths = torch.tensor([tokens.size(1)])
            received = ours.model(tokens, lengths, torch.tensor([[START, *follow]]))
            generated = model.generate(input_ids=hugging, num_beams=1, do_sample=False, max_new_tokens=12)
        known = [number for number in range(len(target.rows)) if number not in (PAD, START, *target.outside)]
        difference = received[..., known] - expected[..., [target.rows[number] for number in known]]
        assert float(difference.abs().max()) < 1e-5
        assert float(received[..., [PAD, START, *target.outside]].max()) < -1e8
        [hypothesis] = greedy(ours.model, tokens, lengths, start=START, end=END, max_length=12)
        assert [target.rows[number] for number in hypothesis.tokens] == generated[0, 1:].tolist()


def test_pieces_are_those_of_transformers(shared):
    tokenizer, ours = theirs_tokenizer(shared), read_marian(shared)
    source, target = sides_of(shared)
    for text in TEXTS:
        assert [source.rows[number] for number in ours.tokenizers.source.encode(text).ids] == tokenizer(text).input_ids[
            :-1
        ], text
    for text in SENTENCES["target"]:
        ids = ours.tokenizers.target.encode(text).ids
        assert [target.rows[number] for number in ids] == tokenizer(text_target=text).input_ids[:-1]
        assert ours.tokenizers.target.decode(ids) == text


def test_special_tokens_in_a_text_are_text(shared):
    source = read_marian(shared).tokenizers.source
    assert END not in source.encode("el </s> gato").ids
    assert not {PAD, START} & {*source.encode("<s> <pad> la casa").ids}
    assert source.encode("el gato negro").words == [0, *[1] * 5, *[2] * 4]


def test_pieces_outside_vocab_json_are_unknown(tmp_path):
    make_marian(tmp_path, lacking=("▁la",))
    ours = read_marian(tmp_path)
    marked = ours.untrained.mark(ours.tokenizers)
    assert 1 in marked.source.encode("la casa").ids
    assert ours.untrained.source == ours.untrained.target != frozenset()


def test_a_translator_with_alignments_and_a_folder_of_ours(shared, tmp_path):
    translator = regard.load(shared)
    [[first]] = translator.search(SENTENCES["source"][:1], weights=True)
    assert first.weights.shape[0] == 2
    assert translator.align([(SENTENCES["source"][0], SENTENCES["target"][0])])[0].links
    export(translator, tmp_path / "ours", to="regard")
    again = regard.load(tmp_path / "ours")
    assert again.translate(SENTENCES["source"]) == translator.translate(SENTENCES["source"])
    pair = SENTENCES["source"][:1], SENTENCES["target"][:1]
    assert again.force(*pair)[0].log_probability == translator.force(*pair)[0].log_probability
    assert not is_marian(tmp_path / "ours")


def rewritten(folder, tmp_path, name, change):
    """Copy a folder with one file of JSON changed."""
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in folder.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    table = json.loads((copy / name).read_text())
    change(table)
    (copy / name).write_text(json.dumps(table))
    return copy


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("config.json", {"decoder_ffn_dim": 9}, r"decoder_ffn_dim must be that of the encoder, 24; received 9\."),
        ("config.json", {"activation_function": "tanh"}, r"activation_function must be relu, gelu, swish, silu; rec"),
        ("config.json", {"encoder_layers": 10**9}, r"encoder_layers must be a whole number from 1 to 256; received 1"),
        ("config.json", {"d_model": 32}, r"must have the shape \(\d+, 32\) that config\.json asks for, in F32"),
        ("config.json", {"encoder_attention_heads": 3, "decoder_attention_heads": 3}, r"`num_heads` must divide"),
        ("vocab.json", {"▁el": 0}, r"must give each piece another number; received one number twice\."),
        ("vocab.json", {"▁el": 10**6}, r"▁el must be a whole number from 0 to \d+; received 1000000\."),
    ],
)
def test_what_does_not_fit_is_one_error(shared, tmp_path, name, change, message):
    folder = rewritten(shared, tmp_path, name, lambda table: table.update(change))
    with pytest.raises(DataError, match=message):
        read_marian(folder)


def test_only_safetensors_are_read(shared, tmp_path):
    folder = rewritten(shared, tmp_path, "config.json", lambda table: None)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(DataError, match=r"must hold model\.safetensors; received a folder without\. Only safetensors"):
        regard.load(folder)


@pytest.mark.parametrize("name", ["source.spm", "vocab.json", "config.json"])
def test_damage_is_an_error_of_ours(shared, tmp_path, name):
    folder = rewritten(shared, tmp_path, "config.json", lambda table: None)
    content = (shared / name).read_bytes()
    for damaged in mutations(content, seed=11, count=30):
        (folder / name).write_bytes(damaged)
        with within(seconds=20), suppress(RegardError):  # anything else is a fault
            read_marian(folder).tokenizers.source.encode("el gato ﬁn ½")

"""CTranslate2 gives the outputs, scores and alignments of our engine; files of strangers are checked before."""

import json
import shutil
from contextlib import suppress
from dataclasses import replace

import pytest
import torch

import regard
from fuzz.mutate import mutations, within
from regard.config.model import TransformerSpec
from regard.decoding.search import Sampling, Search
from regard.errors import ArgumentError, DataError, RegardError
from regard.export.ctranslate2_engine import load_ctranslate2
from regard.export.folder import export
from unit.tasks.translators import RECURRENT, WORDS, make_folder, pairs

pytest.importorskip("ctranslate2")
pytestmark = pytest.mark.usefixtures("unchecked")
SPEC = TransformerSpec(size=16, num_heads=2, num_encoder_layers=1, num_decoder_layers=2, feed_forward_size=24)
TEXTS = [*(pair.source for pair in pairs()[:12]), "", "El libro Zoroaster"]


def both(folder, spec=SPEC, *, precision="float32", config=WORDS):
    ours = regard.load(make_folder(folder / "ours", spec, config))
    export(ours, folder / "export", to="ctranslate2", precision=precision)
    return ours, load_ctranslate2(folder / "export", threads=1)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"norm": "post", "activation": "swish", "position": "sinusoidal-halves"},
        {"norm": "post", "final_norm": True, "activation": "gelu"},
        {"final_norm": False, "activation": "swiglu", "position": "none"},
        {"num_key_value_heads": 1, "position": "learned", "max_length": 60, "tie": "none"},
    ],
    ids=str,
)
def test_outputs_scores_and_weights_agree(settings, tmp_path):
    ours, engine = both(tmp_path, replace(SPEC, **settings))
    for search in (Search(beam=1, max_length=8), Search(beam=3, n_best=2, max_length=8, length_penalty=0.6)):
        for first, second in zip(
            ours.search(TEXTS, search, weights=True), engine.search(TEXTS, search, weights=True), strict=True
        ):
            assert first[0].text == second[0].text
            assert first[0].score == pytest.approx(second[0].score, abs=1e-4)
            assert first[0].log_probability == pytest.approx(second[0].log_probability, abs=1e-3)
            assert first[0].finished == second[0].finished
            if first[0].weights is not None:
                difference = first[0].alignment_weights - second[0].weights[0, 0]
                assert float(difference.abs().max()) < 1e-5
                assert first[0].links == second[0].links


def test_halves_and_int8_translate_and_leave_the_model_as_it_was(tmp_path):
    ours, _ = both(tmp_path)
    before = {name: tensor.clone() for name, tensor in ours.model.state_dict().items()}
    for precision in ("float16", "int8"):
        export(ours, tmp_path / precision, to="ctranslate2", precision=precision)
        output = load_ctranslate2(tmp_path / precision, threads=1).translate(TEXTS, Search(beam=2, max_length=8))
        assert len(output) == len(TEXTS)
        assert output[-2] == ""
    assert all(torch.equal(tensor, before[name]) for name, tensor in ours.model.state_dict().items())


def test_unknown_words_are_replaced_by_what_is_attended_to(tmp_path):
    ours = regard.load(make_folder(tmp_path / "ours", SPEC, favor=1))
    export(ours, tmp_path / "export", to="ctranslate2")
    search = Search(beam=2, max_length=4)
    for unknown in ("replace", "keep"):
        ours = regard.load(tmp_path / "ours", unknown=unknown)
        engine = load_ctranslate2(tmp_path / "export", unknown=unknown, threads=1)
        assert engine.translate(TEXTS, search) == ours.translate(TEXTS, search)


def test_prefixes_and_long_sentences(tmp_path):
    ours, engine = both(tmp_path)
    search, texts = Search(beam=2, max_length=8), ["el libro " * 30]
    begun = engine.search(texts, search, prefixes=["the house"])
    assert begun[0][0].text.startswith("the house")
    assert engine.search(["Libro"], search, prefixes=["the house"])[0][0].text.startswith("the house")
    [output] = engine.translate(["Libro"], search)
    assert output[0].isupper()
    assert [output] == ours.translate(["Libro"], search)
    short = load_ctranslate2(tmp_path / "export", max_source_length=10, threads=1)
    assert short.search(texts, search)[0][0].cut == 51
    assert ours.search(texts, search, max_source_length=10)[0][0].cut == 51


def test_what_ctranslate2_does_not_have_is_refused(tmp_path):
    refused = {
        "position": ("rotary", r'`model\.position` must be sinusoidal or .* for CTranslate2; received "rotary"\.'),
        "score": (
            "additive",
            r'`model\.score` must be scaled-dot for CTranslate2; received "additive"\. Use `to="onnx"`',
        ),
        "normalize": ("entmax", r'`model\.normalize` must be softmax for CTranslate2; received "entmax"'),
    }
    for name, (value, message) in refused.items():
        translator = regard.load(make_folder(tmp_path / name, replace(SPEC, **{name: value})))
        with pytest.raises(ArgumentError, match=message):
            export(translator, tmp_path / "export", to="ctranslate2")
        assert not (tmp_path / "export").exists()
    translator = regard.load(make_folder(tmp_path / "recurrent", RECURRENT))
    with pytest.raises(ArgumentError, match=r"`model` must be a Transformer for CTranslate2; received .* recurrent\. "):
        export(translator, tmp_path / "export", to="ctranslate2")
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_searches_that_ctranslate2_does_otherwise_are_refused(tmp_path):
    _, engine = both(tmp_path)
    with pytest.raises(ArgumentError, match=r'`sampling` must be left out with `engine="ctranslate2"`'):
        engine.search(["a"], Search(sampling=Sampling()))
    with pytest.raises(ArgumentError, match=r'`coverage_penalty` must be 0 with `engine="ctranslate2"`; received 0\.2'):
        engine.search(["a"], Search(coverage_penalty=0.2))


def test_a_folder_of_another_kind(tmp_path):
    folder = make_folder(tmp_path / "ours", SPEC)
    with pytest.raises(DataError, match=r"`folder` must be an export for ctranslate2; .* has no regard\.json\. Make"):
        load_ctranslate2(folder)


def changed(folder, target, name, content):
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(folder, target)
    (target / name).write_bytes(content)
    return target


def test_files_that_do_not_fit_one_another_are_refused_before_ctranslate2_reads_them(tmp_path):
    both(tmp_path)
    good, copy = tmp_path / "export", tmp_path / "copy"
    about = json.loads((good / "regard.json").read_text())
    about["model"]["model"]["size"] = 32
    changed(good, copy, "regard.json", json.dumps(about).encode())
    with pytest.raises(DataError, match=r"model\.bin: .* must have the shape \(\d+, 32\); received \(\d+, 16\)\."):
        load_ctranslate2(copy)
    settings = json.loads((good / "config.json").read_text())
    changed(good, copy, "config.json", json.dumps({**settings, "add_source_bos": True}).encode())
    with pytest.raises(DataError, match=r"config\.json must be what the export wrote; received other settings\."):
        load_ctranslate2(copy)
    words = json.loads((good / "shared_vocabulary.json").read_text())
    changed(good, copy, "shared_vocabulary.json", json.dumps(words[::-1]).encode())
    with pytest.raises(DataError, match=r"shared_vocabulary\.json must list the \d+ tokens of tokenizer\.json; rec"):
        load_ctranslate2(copy)
    changed(good, copy, "vmap.txt", b"a\tb\n")
    with pytest.raises(DataError, match=r"must hold what the export wrote; received vmap\.txt as well\."):
        load_ctranslate2(copy)
    content = (good / "model.bin").read_bytes()
    for damaged, message in (
        (content[:-1], "must be a model of CTranslate2; received: "),
        (content + b"x", "1 bytes behind its end"),
        (b"\x07" + content[1:], "version 7, not 6"),
        (content.replace(b"decoder/layer_norm/beta", b"decoder/layer_norm/bets"), "must hold decoder/layer_norm/beta"),
    ):
        changed(good, copy, "model.bin", damaged)
        with pytest.raises(DataError, match=message):
            load_ctranslate2(copy)


def test_damage_is_an_error_of_ours_or_harmless(tmp_path):
    both(tmp_path)
    for name in ("model.bin", "regard.json"):
        content = (tmp_path / "export" / name).read_bytes()
        for damaged in mutations(content[:6000] if name == "model.bin" else content, seed=3, count=12):
            changed(tmp_path / "export", tmp_path / "copy", name, damaged)
            with within(seconds=20), suppress(RegardError):  # anything else is a fault
                load_ctranslate2(tmp_path / "copy")

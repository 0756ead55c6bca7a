"""`regard export`, and `regard translate --engine`, run as a user runs them."""

import io
import json
import sys

import pytest

from regard.cli import main
from regard.config.model import TransformerSpec
from unit.tasks.translators import RECURRENT, make_folder, pairs

pytest.importorskip("ctranslate2")
SPEC = TransformerSpec(size=16, num_heads=2, num_encoder_layers=1, num_decoder_layers=1, feed_forward_size=16)


@pytest.fixture
def run(unchecked, monkeypatch, capsys):
    def run(*words):
        monkeypatch.setattr(sys, "argv", ["regard", *map(str, words)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
        code = 0
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def test_an_export_translates_like_the_model(run, tmp_path):
    model, out = make_folder(tmp_path / "model", SPEC), tmp_path / "export"
    code, shown, errors = run("export", model, "--to", "ctranslate2", "--out", out, "--json")
    assert (code, errors) == (0, "")
    assert json.loads(shown)["folder"] == str(out)
    texts = [pair.source for pair in pairs()[:4]]
    expected = run("translate", model, *texts, "--beam", "2", "--max-length", "6", "--json")
    received = run("translate", out, *texts, "--beam", "2", "--max-length", "6", "--json", "--engine", "ctranslate2")
    assert (expected[0], received[0]) == (0, 0)
    for first, second in zip(expected[1].splitlines(), received[1].splitlines(), strict=True):
        for name in ("text", "tokens", "alignment", "source_tokens", "finished"):
            assert json.loads(first)[name] == json.loads(second)[name]
    (tmp_path / "in").write_text("\n".join(texts) + "\n")
    file = "--input", tmp_path / "in", "--output", tmp_path / "out.txt", "--beam", "2"
    assert run("translate", out, *file, "--engine", "ctranslate2")[0] == 0
    assert (tmp_path / "out.txt").read_text().count("\n") == 4


def test_bad_input_is_one_paragraph(run, tmp_path):
    model = make_folder(tmp_path / "model", RECURRENT)
    out = tmp_path / "export"
    for words, message in (
        (("export", model, "--to", "onxx", "--out", out), "`--to` must be ctranslate2, onnx or regard; received"),
        (("export", model, "--to", "ctranslate2", "--out", out), "`MODEL` must be a Transformer for CTranslate2;"),
        (("export", model, "--to", "onnx", "--out", model), "`--out` must be a new folder; received"),
        (("export", tmp_path / "none", "--to", "onnx", "--out", out), "`MODEL` must be a model folder or a run folder"),
        (
            ("translate", model, "a", "--engine", "tensorrt"),
            "`--engine` must be torch, ctranslate2, ray or ray:ADDRESS",
        ),
        (("translate", model, "a", "--engine", "ctranslate2"), "must be an export for ctranslate2;"),
        (("translate", model, "a", "--engine", "ctranslate2", "--with", model), "`--with` must be left out with"),
        (
            ("translate", model, "a", "--engine", "ctranslate2", "--precision", "int8"),
            "`--precision` and `--shortlist` must be left out with --engine ctranslate2",
        ),
        (("export", "hf:a", "--to", "onnx", "--out", out), "must be hf:owner/name or hf:owner/name@revision; received"),
    ):
        code, shown, errors = run(*words)
        assert (code, shown) == (2, ""), errors
        assert message in errors
        assert errors.count("\n") == 1
        assert not out.exists()

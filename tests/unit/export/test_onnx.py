"""ONNX files give the model's numbers to 1e-4, recurrent models' too, and translate where torch cannot be imported."""

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import regard
from regard.config.attention import LocalSpec, LuongSpec, MultiHeadSpec
from regard.config.model import RecurrentSpec, TransformerSpec
from regard.decoding.search import Search
from regard.errors import ArgumentError
from regard.export import onnx_export
from regard.export.folder import export
from regard.tasks.translation.model import Translator
from regard.tasks.translation.presets import COUNTING
from unit.tasks.translators import RECURRENT, WORDS, make_folder, pairs, tokenizers

pytest.importorskip("onnxscript")
onnxruntime = pytest.importorskip("onnxruntime")
pytestmark = [pytest.mark.compiled, pytest.mark.usefixtures("unchecked")]
EXAMPLE = Path(__file__).parents[3] / "examples" / "21_onnx_without_torch.py"
TRANSFORMER = TransformerSpec(size=16, num_heads=2, num_encoder_layers=1, num_decoder_layers=1, feed_forward_size=16)
SMALL = {"embedding_size": 8, "hidden_size": 8}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Write a recurrent model, once: torch's exporter takes seconds."""
    return write(tmp_path_factory.mktemp("onnx"), RECURRENT)


def write(folder, spec):
    result = export(regard.load(make_folder(folder / "recurrent", spec)), folder / "recurrent-onnx", to="onnx")
    assert result.difference is not None
    assert result.difference < 1e-4
    return folder


def test_greedy_outputs_and_weights_are_those_of_the_model(exported):
    onnx = runpy.run_path(str(EXAMPLE))["OnnxTranslator"](exported / "recurrent-onnx")
    translator = regard.load(exported / "recurrent")
    texts = [pair.source for pair in pairs()[:6]]
    for [ours], text in zip(translator.search(texts, Search(beam=1, max_length=8), weights=True), texts, strict=True):
        _, output, weights = onnx.translate(text, longest=8)
        expected = [token for token in ours.target_tokens if token != "</s>"]
        assert output == expected
        assert np.allclose(weights, ours.weights.mean((0, 1))[: len(expected)], atol=1e-4)


def test_the_example_translates_where_torch_cannot_be_imported(exported):
    program = (
        "import sys, runpy; sys.modules['torch'] = sys.modules['regard'] = None; sys.argv[:] = sys.argv[1:]; "
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    command = [
        sys.executable,
        "-W",
        "error",
        "-c",
        program,
        str(EXAMPLE),
        str(exported / "recurrent-onnx"),
        "El libro.",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("El libro. →")


def test_a_difference_is_an_error(exported, monkeypatch):
    monkeypatch.setattr(onnx_export, "TOLERANCE", 0.0)
    model = regard.load(exported / "recurrent").network
    with pytest.raises(ArgumentError, match=r"onnxruntime must agree with the model to 0; received a difference of "):
        onnx_export.compare(
            model, onnx_export.name_tensors(model), exported / "recurrent-onnx",
            source_vocabulary=model.source.table.num_embeddings,
        )  # fmt: skip


def test_what_counts_has_no_graph(tmp_path):
    from regard.models.statistical.translator import StatisticalModel

    spec = COUNTING["statistical"]
    model = object.__new__(StatisticalModel)
    translator = object.__new__(Translator)
    translator.models, translator.tokenizers = (model,), tokenizers(WORDS)
    translator.config = regard.load(make_folder(tmp_path / "a")).config
    assert spec.kind == "statistical"
    with pytest.raises(ArgumentError, match=r"`model` must be a network for ONNX; received a statistical translator"):
        export(translator, tmp_path / "out", to="onnx")
    assert not (tmp_path / "out").exists()


def test_without_the_package_the_extra_is_named(monkeypatch, exported, tmp_path):
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(ImportError, match=r"pip install 'regard\[onnx\]'"):
        export(regard.load(exported / "recurrent"), tmp_path / "out", to="onnx")


@pytest.mark.slow
def test_a_transformer_likewise(tmp_path):
    test_greedy_outputs_and_weights_are_those_of_the_model(write(tmp_path, TRANSFORMER))


@pytest.mark.slow
@pytest.mark.parametrize(
    "spec",
    [
        TransformerSpec(**{**vars(TRANSFORMER), "position": "rotary", "norm": "post", "activation": "swiglu"}),
        TransformerSpec(**{**vars(TRANSFORMER), "position": "relative", "num_key_value_heads": 1}),
        TransformerSpec(**{**vars(TRANSFORMER), "position": "alibi", "score": "additive"}),
        TransformerSpec(**{**vars(TRANSFORMER), "position": "learned", "max_length": 40, "normalize": "sparsemax"}),
        RecurrentSpec(cell="lstm", num_layers=2, attention=LuongSpec(score="concat"), wiring="current",
                      output="attentional", **SMALL),
        RecurrentSpec(cell="lstm", direction="backward", attention=LocalSpec(alignment="predictive", score="general"),
                      wiring="current", input_feeding=True, output="attentional", start="copy", **SMALL),
        RecurrentSpec(cell="rnn", attention=MultiHeadSpec(num_heads=2), wiring="current", output="maxout", **SMALL),
    ],
    ids=lambda spec: f"{spec.kind}-{getattr(spec, 'position', getattr(spec, 'cell', ''))}",
)  # fmt: skip
def test_other_models(spec, tmp_path):
    write(tmp_path, spec)

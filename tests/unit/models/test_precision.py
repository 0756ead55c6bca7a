"""Matrices of less precision: near the model they were made of, and what stays as it was."""

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from catalogue.models import MODELS, Row, example
from regard.config.model import TransformerSpec
from regard.decoding import Search, decode
from regard.errors import ArgumentError, DataError, NotFiniteError
from regard.models import Model, build_model
from regard.models.folder import PARAMETERS, load_model, save_model
from regard.models.precision import BFloat16Linear, Int8Linear, Precision, in_precision, quantize_rows

ROWS = {row.name: row for row in MODELS}
SPEC = TransformerSpec(
    size=32, num_encoder_layers=1, num_decoder_layers=1, num_heads=2, feed_forward_size=64, tie="all"
)


def small() -> Model:
    torch.manual_seed(1)
    return build_model(SPEC, source_vocabulary=40, target_vocabulary=40).eval()


def test_a_row_is_rounded_to_within_half_a_step_and_once_only() -> None:
    matrix = torch.randn(7, 33) * torch.logspace(-4, 4, 7).unsqueeze(1)
    integers, scale = quantize_rows(matrix)
    written_out = integers * scale.unsqueeze(1)
    assert ((written_out - matrix).abs() <= 0.5001 * scale.unsqueeze(1)).all()
    again, same = quantize_rows(written_out)
    assert torch.equal(again, integers)
    torch.testing.assert_close(same, scale, rtol=1e-6, atol=0)


@pytest.mark.parametrize("shape", [(1, 5), (3, 2, 5), (0, 5)])
@pytest.mark.parametrize("bias", [True, False])
def test_int8_is_near_the_linear_map(shape: tuple[int, ...], bias: bool) -> None:
    torch.manual_seed(0)
    linear, x = nn.Linear(5, 9, bias=bias), torch.randn(shape)
    layer = Int8Linear.from_linear(linear)
    expected, received = linear(x), layer(x)
    assert received.shape == expected.shape
    assert received.dtype == torch.float32
    torch.testing.assert_close(received, expected, rtol=0, atol=0.05)
    torch.testing.assert_close(layer.weight, linear.weight, rtol=0, atol=0.005)


def test_int8_is_copied_moved_and_cut_to_some_outputs() -> None:
    layer, x = Int8Linear.from_linear(nn.Linear(6, 4)), torch.randn(3, 6)
    assert torch.equal(deepcopy(layer)(x), layer(x))
    assert torch.equal(layer.rows(torch.tensor([3, 0]))(x), layer(x)[:, [3, 0]])
    elsewhere = deepcopy(layer).to("meta")
    assert elsewhere(x.to("meta")).shape == (3, 4), "without a kernel of whole numbers"


TRANSFORMERS = ["transformer-tiny", "transformer relative", "transformer swiglu grouped"]
BOTH = [(name, precision) for name in TRANSFORMERS for precision in ("int8", "bfloat16")]


@pytest.mark.parametrize(
    ("name", "precision"), [*BOTH, *((name, "int8") for name in ("bahdanau", "luong-general", "fixed"))]
)
def test_a_model_predicts_nearly_the_same(name: str, precision: Precision) -> None:
    row: Row = ROWS[name]
    model, (source, lengths, target) = row.build(torch.float32), example()
    fast = in_precision(model, precision)
    assert fast is not model
    assert any(isinstance(part, Int8Linear | BFloat16Linear) for part in fast.modules())
    assert all(type(part) is not nn.Linear for part in fast.modules())
    received, expected = fast(source, lengths, target), model(source, lengths, target)
    torch.testing.assert_close(received.float().log_softmax(-1), expected.log_softmax(-1), rtol=0, atol=0.15)
    memory = fast.encode(source, lengths)
    predicted, _, _ = fast.step(target[:, :1], fast.start(memory), memory)
    assert predicted.dtype == torch.float32


def test_float32_is_the_model_itself_and_other_names_are_refused(unchecked: None) -> None:
    model = small()
    assert in_precision(model, "float32") is model
    with pytest.raises(ArgumentError, match='`precision` must be float32, bfloat16 or int8; received "int4"'):
        in_precision(model, "int4")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="`precision` must be float32 or int8 for a recurrent model; received"):
        in_precision(ROWS["bahdanau"].build(), "bfloat16")


@pytest.mark.parametrize("precision", ["int8", "bfloat16"])
def test_weights_stay_available(precision: str) -> None:
    model, (source, lengths, _) = in_precision(ROWS["transformer-tiny"].build(torch.float32), precision), example()
    outputs = decode(model, source, lengths, search=Search(beam=2, max_length=5), start=2, end=3, weights=True)
    for (first, *_), length in zip(outputs, lengths.tolist(), strict=True):
        assert first.weights is not None
        torch.testing.assert_close(
            first.weights.float().sum(-1), torch.ones(first.weights.shape[:-1]), rtol=0, atol=0.02
        )
        assert first.weights.shape[-1] == length


def save(model: Model, folder: Path, *, int8: bool) -> int:
    save_model(model, SPEC, folder, source_vocabulary=40, target_vocabulary=40, int8=int8)
    return (folder / PARAMETERS).stat().st_size


def test_a_folder_of_int8_is_smaller_and_loads_as_what_int8_computes_with(tmp_path: Path) -> None:
    model, source = small(), torch.tensor([[5, 6, 7]])
    large, little = save(model, tmp_path / "a", int8=False), save(model, tmp_path / "b", int8=True)
    assert little < 0.45 * large, "matrices of 32 columns: a quarter, and their scales"
    loaded = load_model(tmp_path / "b").model
    assert all(item.dtype == torch.float32 for item in loaded.parameters())
    assert loaded.output.weight is loaded.target.table.weight
    for fast in (in_precision(model, "int8"), in_precision(loaded, "int8")):
        torch.testing.assert_close(fast.output.weight, loaded.output.weight)
    search = {"search": Search(beam=2, max_length=6), "start": 2, "end": 3}
    for item in (loaded, in_precision(loaded, "int8")):
        assert decode(item, source, **search)[0][0].score == pytest.approx(
            decode(model, source, **search)[0][0].score, abs=0.1
        )


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda tensors: tensors.pop("source.table.weight.scale"), "missing: source.table.weight.scale"),
        (lambda tensors: tensors.update({"more.scale": torch.ones(3)}), "unknown: more.scale"),
        (
            lambda tensors: tensors.update({"source.table.weight.scale": torch.ones(3)}),
            r"source.table.weight.scale must be 40 numbers of F32, one for each row; received \(3,\) of F32",
        ),
        (
            lambda tensors: tensors.update({"decoder_norm.weight": torch.ones(32, dtype=torch.int8)}),
            "missing: decoder_norm.weight.scale",
        ),
    ],
)
def test_a_damaged_folder_of_int8_is_refused(
    tmp_path: Path, damage: Callable[[dict[str, Tensor]], object], message: str
) -> None:
    save(small(), tmp_path, int8=True)
    tensors = load_file(tmp_path / PARAMETERS)
    damage(tensors)
    save_file(tensors, tmp_path / PARAMETERS)
    with pytest.raises(DataError, match=message):
        load_model(tmp_path)


def test_a_scale_that_is_no_number_is_refused(tmp_path: Path) -> None:
    save(small(), tmp_path, int8=True)
    tensors = load_file(tmp_path / PARAMETERS)
    tensors["source.table.weight.scale"][0] = torch.nan
    save_file(tensors, tmp_path / PARAMETERS)
    with pytest.raises(NotFiniteError, match="must hold numbers; received NaN"):
        load_model(tmp_path)

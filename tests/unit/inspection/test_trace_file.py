"""Traces come back from their file to the bit, and nothing else passes for one."""

import json
import re
import zipfile
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from regard import Causal
from regard.errors import DataError
from regard.inspection import Trace, record
from regard.layers import MultiHeadAttention


def recorded(dtype: torch.dtype = torch.float32) -> Trace:
    layer = MultiHeadAttention(8, 2).to(dtype)
    words = [["the", "<b>cat</b>", "\ud800 lone"], ["a", '"', "\x00\n"]]
    with record(layer, key_labels=words, query_labels=("x", "y", "z")) as trace:
        layer(torch.randn(2, 3, 8, dtype=dtype), mask=Causal())
        layer(torch.randn(2, 3, 8, dtype=dtype))
    return trace


def bits(tensor: torch.Tensor | None) -> object:
    return None if tensor is None else (tensor.dtype, tensor.shape, tensor.contiguous().view(torch.uint8).tolist())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_everything_comes_back_to_the_bit(dtype: torch.dtype, tmp_path: Path) -> None:
    trace = recorded(dtype)
    trace[1].weights[0, 0, 0] = torch.tensor([float("nan"), -0.0, 1e-45])
    trace.save(tmp_path / "a.trace")
    again = Trace.load(tmp_path / "a.trace")
    assert repr(again) == repr(trace)
    for one, other in zip(trace, again, strict=True):
        assert (one.layer, one.step) == (other.layer, other.step)
        assert other.key_labels == one.key_labels
        assert other.query_labels == ["x", "y", "z"]
        for name in ("scores", "weights", "value_norms", "mask"):
            assert bits(getattr(one, name)) == bits(getattr(other, name))
    assert [path.name for path in tmp_path.iterdir()] == ["a.trace"]


def test_kept_gradients_shared_memory_and_no_calls_are_no_trouble(tmp_path: Path) -> None:
    layer = MultiHeadAttention(8, 2)
    with record(layer, keep_gradients=True) as trace:
        layer(torch.randn(1, 3, 8)).sum().backward()
    trace[0].scores = trace[0].weights
    trace.save(tmp_path / "a")
    assert torch.equal(Trace.load(tmp_path / "a")[0].weights, trace[0].weights)
    assert not Trace.load(tmp_path / "a")[0].weights.requires_grad
    Trace().save(tmp_path / "b")
    assert len(Trace.load(str(tmp_path / "b"))) == 0


def test_other_tools_can_read_it_and_masks_hardly_take_room(tmp_path: Path) -> None:
    layer = MultiHeadAttention(8, 2)
    with record(layer) as trace:
        layer(torch.randn(1, 200, 8), mask=Causal())
    trace.save(tmp_path / "a.zip")
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        archive.extractall(tmp_path / "out")
    assert torch.equal(load_file(tmp_path / "out/calls/00000.safetensors")["weights"], trace[0].weights)
    whole = (tmp_path / "out/calls/00000.safetensors").stat().st_size
    assert (tmp_path / "a.zip").stat().st_size < 0.6 * whole


def test_a_missing_or_foreign_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"`path` must be a file that can be read; received .*none: No such file"):
        Trace.load(tmp_path / "none")
    with pytest.raises(DataError, match=r"`path` must be a file that can be written; received .*x/y: No such file"):
        Trace().save(tmp_path / "x/y")
    foreign = r"`path` must be a trace that Trace\.save wrote; received another kind of file, "
    (tmp_path / "text").write_text("hello")
    with pytest.raises(DataError, match=foreign + re.escape(str(tmp_path / "text"))):
        Trace.load(tmp_path / "text")
    torch.save({"a": torch.ones(2)}, tmp_path / "pickle.pt")
    with pytest.raises(DataError, match=foreign):
        Trace.load(tmp_path / "pickle.pt")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("trace.json", json.dumps({"format": "other"}))
    with pytest.raises(DataError, match=foreign):
        Trace.load(tmp_path / "other.zip")


def test_a_damaged_file_is_never_read_as_something_else(tmp_path: Path) -> None:
    recorded().save(tmp_path / "a")
    good = (tmp_path / "a").read_bytes()
    generator = torch.Generator().manual_seed(0)
    for _ in range(40):
        place = int(torch.randint(len(good), (), generator=generator))
        (tmp_path / "b").write_bytes(good[:place] + bytes([good[place] ^ 0x55]) + good[place + 1 :])
        try:
            again = Trace.load(tmp_path / "b")
        except DataError:
            continue
        # what is left are fields of the archive that carry no content, such as dates
        assert torch.equal(again[0].weights, Trace.load(tmp_path / "a")[0].weights)
    (tmp_path / "b").write_bytes(good[: len(good) // 2])
    with pytest.raises(DataError, match="another kind of file"):
        Trace.load(tmp_path / "b")


def rewritten(path: Path, **changes: object) -> Path:
    """The same archive with another description."""
    other = path.with_name("changed")
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(other, "w") as copy:
        for name in archive.namelist():
            data = archive.read(name)
            copy.writestr(name, json.dumps(json.loads(data) | changes) if name == "trace.json" else data)
    return other


def test_versions_and_descriptions_must_fit(tmp_path: Path) -> None:
    recorded().save(tmp_path / "a")
    with pytest.raises(DataError, match=r"a trace of version 1; received version 2, .*Read it with the regard that"):
        Trace.load(rewritten(tmp_path / "a", version=2))
    with pytest.raises(
        DataError, match=r"`path` must be a whole trace; received a damaged one, .*Record or copy it once"
    ):
        Trace.load(rewritten(tmp_path / "a", calls=[{}]))
    with pytest.raises(DataError, match="must be a whole trace"):
        Trace.load(rewritten(tmp_path / "a", calls=7))


def test_a_small_file_does_not_unpack_to_a_large_one(tmp_path: Path) -> None:
    recorded().save(tmp_path / "a")
    packed = zipfile.ZipFile(tmp_path / "a", "a", zipfile.ZIP_DEFLATED)
    with packed as archive, archive.open("calls/00009.safetensors", "w") as member:
        for _ in range(300):
            member.write(bytes(1 << 20))
    size = r"it would unpack to 314,\d{3},\d{3} bytes, more than 268,435,456"
    with pytest.raises(DataError, match=rf"must be a whole trace; received a damaged one, .*\({size}\)"):
        Trace.load(tmp_path / "a")


@pytest.mark.parametrize(
    "changes",
    [
        {"layer": 3},
        {"step": -1},
        {"step": "1"},
        {"query_labels": [3]},
        {"query_labels": "word"},
        {"key_labels": [["a"] * 900]},
        {"key_labels": {"a": 1}},
    ],
)
def test_a_description_of_other_types_is_damage(tmp_path: Path, changes: dict[str, object]) -> None:
    recorded().save(tmp_path / "a")
    with zipfile.ZipFile(tmp_path / "a") as archive:
        calls = json.loads(archive.read("trace.json"))["calls"]
    with pytest.raises(DataError, match="must be a whole trace; received a damaged one"):
        Trace.load(rewritten(tmp_path / "a", calls=[calls[0] | changes, *calls[1:]]))

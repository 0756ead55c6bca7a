"""An export is whole or not there."""

from contextlib import suppress

import pytest

import regard
from regard.errors import ArgumentError, DataError
from regard.export.folder import check_choices, check_out, export, new_folder, read_about
from unit.tasks.translators import make_folder

pytestmark = pytest.mark.usefixtures("unchecked")


def test_choices():
    assert check_choices("onnx", "float32") == ("onnx", "float32")
    for to, precision, message in (
        ("onxx", "float32", r'`to` must be ctranslate2, onnx or regard; received "onxx"\. Did you mean onnx\?'),
        ("ctranslate2", "int4", r'`precision` must be float32, float16 or int8; received "int4"\.'),
        ("onnx", "int8", r"`precision` must be float32 for onnx; received int8\. CTranslate2 takes others\."),
    ):
        with pytest.raises(ArgumentError, match=message):
            check_choices(to, precision)


def test_where_an_export_may_go(tmp_path):
    check_out(tmp_path / "new", overwrite=False)
    check_out(tmp_path, overwrite=False)
    with new_folder(tmp_path / "exports" / "a", overwrite=False) as folder:
        (folder / "regard.json").write_text("{}")
    assert (tmp_path / "exports" / "a" / "regard.json").is_file()
    (tmp_path / "file").write_text("mine")
    for out, overwrite, message in (
        (tmp_path / "file", True, r"`out` must be a folder; received .*file, which is something else\."),
        (tmp_path, False, r"`out` must be a new folder; received .*, which has files\. Replace it: `overwrite=True`\."),
        (tmp_path, True, r"`out` must be an export to be replaced; received .*, which is none\. Name another one\."),
        (tmp_path / "file" / "b", False, r"`out` must be in a folder; received .*file/b, and .*file is none\. Name"),
    ):
        with pytest.raises(ArgumentError, match=message):
            check_out(out, overwrite=overwrite)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_failure_leaves_what_was_there(tmp_path):
    out = tmp_path / "out"
    with new_folder(out, overwrite=False) as folder:
        (folder / "regard.json").write_text("first")
        assert not out.exists()
    assert (out / "regard.json").read_text() == "first"
    with suppress(RuntimeError), new_folder(out, overwrite=True) as folder:
        (folder / "regard.json").write_text("second")
        raise RuntimeError
    assert (out / "regard.json").read_text() == "first"
    with new_folder(out, overwrite=True) as folder:
        (folder / "other").write_text("third")
    assert [path.name for path in out.iterdir()] == ["other"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_several_models_and_an_export_for_another_program(tmp_path):
    folder = make_folder(tmp_path / "a")
    with pytest.raises(ArgumentError, match=r"`translator` must be of one model; received 2\."):
        export(regard.load([folder, folder]), tmp_path / "out", to="onnx")
    (tmp_path / "regard.json").write_text('{"to": "onnx", "precision": "float32", "model": {}}')
    with pytest.raises(DataError, match=r'regard\.json: to must be "ctranslate2"; received "onnx"\.'):
        read_about(tmp_path, "ctranslate2")
    (tmp_path / "regard.json").write_text('{"to": "ctranslate2", "precision": "int3", "model": {}}')
    with pytest.raises(DataError, match=r'precision must be float32 or float16 or int8; received "int3"\.'):
        read_about(tmp_path, "ctranslate2")
    (tmp_path / "regard.json").write_text('{"to": "ctranslate2", "precision": "int8", "model": {"a": 1}}')
    with pytest.raises(DataError, match=r"regard\.json: model\."):
        read_about(tmp_path, "ctranslate2")

"""Lines of a stream and of a file, one for one, and what is left when a run is stopped."""

import errno
import gzip
import io
import json
import lzma
import re
from pathlib import Path

import pytest
import zstandard

from regard.data.formats.compressed import open_decompressed
from regard.decoding.search import Search
from regard.errors import ArgumentError, DataError, NotFiniteError
from regard.tasks.translation.files import OutputFile, translate_file
from regard.tasks.translation.lines import LineTranslator, Translate, translate_stream
from regard.tasks.translation.model import load
from unit.tasks.translators import Upper, make_folder, pairs

GREEDY = Translate(beam=1, max_length=8)
SETTINGS = {"model": "a", "beam": "1"}
SOURCE = "".join(f"{pair.source} {number}\n" for number, pair in enumerate(pairs()[:25])).encode()


@pytest.fixture(scope="module")
def translator(tmp_path_factory):
    return load(make_folder(tmp_path_factory.mktemp("words")))


class Stopping(LineTranslator):
    """Is interrupted before the chunk of this number."""

    chunks = 2

    def __call__(self, raw):
        if self.chunks == 0:
            raise KeyboardInterrupt
        self.chunks -= 1
        return super().__call__(raw)


class Silent(LineTranslator):
    """Has nothing left to translate."""

    def __call__(self, raw):
        raise AssertionError("asked to translate")


class Pipe(io.BytesIO):
    """Cannot be read twice."""

    def seekable(self):
        return False


def run(translator, path, content=SOURCE, *, work=None, settings=SETTINGS, **others):
    work = work or LineTranslator(translator, GREEDY)
    translate_file(work, io.BytesIO(content), path, settings=settings, chunk_lines=4, **others)
    return work


def stop(translator, path, *, stopping=None, **others):
    with pytest.raises(KeyboardInterrupt):
        run(translator, path, work=stopping or Stopping(translator, GREEDY), **others)


def test_a_file_has_a_line_for_each_line(translator, tmp_path):
    told = []
    work = run(translator, tmp_path / "out", watch=lambda lines, size: told.append((lines, size)))
    expected = translator.search(SOURCE.decode().split("\n")[:-1], GREEDY)
    assert (tmp_path / "out").read_text().split("\n")[:-1] == [one[0].text for one in expected]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (told[0], told[-1], len(told)) == ((0, 0), (25, len(SOURCE)), 8)
    assert work.lines == 25


@pytest.mark.parametrize("ending", [b"", b"garbage of a chunk that was cut sh"])
def test_a_run_that_was_stopped_goes_on(translator, tmp_path, ending):
    run(translator, tmp_path / "whole")
    path = tmp_path / "out"
    broken = SOURCE.replace(b" 3\n", b" \xff3\n")
    stop(translator, path, content=broken)
    assert not path.exists()
    journal = json.loads((tmp_path / "out.progress").read_text())
    assert (journal["lines"], journal["finished"]) == (8, False)
    with (tmp_path / "out.partial").open("ab") as file:
        file.write(ending)
    told = []
    work = run(translator, path, broken, watch=lambda lines, size: told.append(lines))
    assert told[:2] == [8, 12]
    assert path.read_text().count("\n") == 25
    assert path.read_text().split("\n")[4:] == (tmp_path / "whole").read_text().split("\n")[4:]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["out", "whole"]
    respelled, broken = work.warnings()
    assert respelled.startswith("In line 12, words that the model knows with other accents or case were read so: ")
    assert broken == "Lines must be UTF-8; line 4 had 1 byte that no UTF-8 has, replaced by U+FFFD."


def test_what_is_stopped_while_it_ends_is_complete(translator, tmp_path, monkeypatch):
    path = tmp_path / "out"
    with monkeypatch.context() as context:
        context.setattr(OutputFile, "complete", lambda place: None)
        run(translator, path)
    assert not path.exists()
    with pytest.raises(
        DataError, match=r"its first 25 lines have changed. Put it back to go on, or begin anew with `overwrite=True`"
    ):
        run(translator, path, b"another\n")
    run(translator, path, work=Silent(translator, GREEDY))
    assert path.read_text().count("\n") == 25
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


def test_what_is_stopped_after_it_has_its_name_is_complete(translator, tmp_path, monkeypatch):
    path = tmp_path / "out"

    def half(place):
        place.partial.replace(place.path)

    def leave(content=SOURCE):
        with monkeypatch.context() as context:
            context.setattr(OutputFile, "complete", half)
            run(translator, path, content)
        assert sorted(one.name for one in tmp_path.iterdir()) == ["out", "out.progress"]

    for overwrite in (False, True):
        leave()
        assert run(translator, path, work=Silent(translator, GREEDY), overwrite=overwrite).lines == 25
        assert [one.name for one in tmp_path.iterdir()] == ["out"]
        path.unlink()
    leave()
    with pytest.raises(ArgumentError, match=r"`output` must be a file that is not there yet"):
        run(translator, path, SOURCE + b"more\n")
    run(translator, path, b"one\n", overwrite=True)
    assert path.read_text().count("\n") == 1
    path.unlink()
    leave()
    path.unlink()  # the journal says that all is done, but nothing is there
    run(translator, path, b"one\ntwo\n")
    assert path.read_text().count("\n") == 2


def test_overwriting_begins_anew_where_the_input_has_changed(translator, tmp_path):
    run(translator, tmp_path / "whole", b"one\ntwo\n")
    path = tmp_path / "out"
    stop(translator, path)
    run(translator, path, b"one\ntwo\n", overwrite=True)
    assert path.read_text() == (tmp_path / "whole").read_text()
    stop(translator, path, overwrite=True)
    told = []
    run(translator, path, overwrite=True, watch=lambda lines, size: told.append(lines))  # the same goes on
    assert (told[0], path.read_text().count("\n")) == (8, 25)
    stop(translator, path, overwrite=True)
    translate_file(LineTranslator(translator, GREEDY), Pipe(b"one\ntwo\n"), path, settings=SETTINGS, overwrite=True)
    assert path.read_text() == (tmp_path / "whole").read_text()


def test_another_command_does_not_go_on(translator, tmp_path):
    path = tmp_path / "out"
    stop(translator, path)
    other = {"model": "b", "beam": "1", "n_best": "2"}
    message = "was begun with another: model was a, now b; n_best was None, now 2. Give that command, or begin anew"
    with pytest.raises(ArgumentError, match=re.escape(message)):
        run(translator, path, settings=other)
    run(translator, path, b"one\ntwo\n", settings=other, overwrite=True)
    assert path.read_text().count("\n") == 2


def test_an_input_that_has_changed_does_not_go_on(translator, tmp_path):
    path = tmp_path / "out"
    stop(translator, path)
    for changed in (b"x" + SOURCE, SOURCE[:30]):
        with pytest.raises(
            DataError,
            match=r"its first 8 lines have changed. Put it back to go on, or begin anew with `overwrite=True`.",
        ):
            run(translator, path, changed)
    (tmp_path / "out.progress").unlink()
    run(translator, path, b"one\n")
    assert path.read_text().count("\n") == 1


def test_an_output_that_is_there_is_kept(translator, tmp_path):
    path = tmp_path / "out"
    path.write_text("precious")
    with pytest.raises(ArgumentError, match=r"`output` must be a file that is not there yet; .*out is. Name another"):
        run(translator, path)
    assert path.read_text() == "precious"
    stop(translator, path, overwrite=True)
    assert path.read_text() == "precious"
    run(translator, path, overwrite=True)
    assert path.read_text().count("\n") == 25


@pytest.mark.parametrize(
    "changes",
    [
        {"lines": "7"},
        {"lines": -1},
        {"output_bytes": None},
        {"settings": {"beam": 5}},
        {"settings": []},
        {"tally": 3},
        {"tally": {"broken_bytes": 0}},
        {"finished": "no"},
        {"digest": 7},
    ],
)
def test_a_journal_of_other_values_is_told_and_overwriting_cures_it(translator, tmp_path, changes):
    path = tmp_path / "out"
    stop(translator, path)
    journal = json.loads((tmp_path / "out.progress").read_text())
    (tmp_path / "out.progress").write_text(json.dumps(journal | changes))
    message = r"out\.progress must be what `regard translate` wrote; received: .* Begin anew with `overwrite=True`\."
    with pytest.raises(DataError, match=message):
        run(translator, path)
    run(translator, path, overwrite=True)
    assert path.read_text().count("\n") == 25


def test_damage_is_told(translator, tmp_path):
    path = tmp_path / "out"
    stop(translator, path)
    (tmp_path / "out.partial").write_bytes(b"")
    with pytest.raises(
        DataError, match=r"out.partial must have the \d+ bytes that were written; received 0. Begin anew"
    ):
        run(translator, path)
    (tmp_path / "out.progress").write_text("{")
    with pytest.raises(
        DataError, match=r"out.progress must be what `regard translate` wrote; received: .* `overwrite=True`."
    ):
        run(translator, path)
    with pytest.raises(ArgumentError, match=r"`output` must be a file; received the folder"):
        run(translator, tmp_path)
    with pytest.raises(ArgumentError, match=r"`output` must be in a folder that is there; received .*mkdir -p"):
        run(translator, tmp_path / "absent" / "out")
    with (
        OutputFile(path).opened(),
        pytest.raises(ArgumentError, match=r"`output` must be a file that no other process writes; .*being translated"),
    ):
        run(translator, path)
    run(translator, path, overwrite=True)
    assert path.read_text().count("\n") == 25


class UpperStopping(Upper, Stopping):
    """Is interrupted as well."""

    def __call__(self, raw):
        if self.chunks == 0:
            raise KeyboardInterrupt
        self.chunks -= 1
        return super().__call__(raw)


def change(path, **values):
    """Change values of a journal; None removes one."""
    table = json.loads(path.read_text()) | values
    path.write_text(json.dumps({name: value for name, value in table.items() if value != "none"}))


TALLY = {"broken_bytes": 0, "broken_lines": 0, "first_broken": [], "cut_lines": 0, "first_cut": [], "utf16": False}
DAMAGE = [
    {"lines": "8"},
    {"lines": -1},
    {"lines": 7},
    {"lines": 9},
    {"lines": True},
    {"lines": 10**40},
    {"lines": None},
    {"lines": "none"},
    {"more": 1},
    {"output_bytes": 1.5},
    {"output_bytes": 0},
    {"output_bytes": 3},
    {"output_bytes": 10**40},
    {"digest": 3},
    {"digest": ""},
    {"finished": 1},
    {"settings": []},
    {"settings": {"model": ["a"]}},
    {"settings": {}},
    {"settings": {"model": "9" * 5000}},
    {"settings": {"x" * 300: "", **{str(number): "" for number in range(999)}}},
    {"tally": []},
    {"tally": {"utf16": False}},
    {"tally": TALLY | {"broken_lines": 1}},
    {"tally": TALLY | {"cut_lines": 2, "first_cut": [1]}},
    {"tally": TALLY | {"cut_lines": 1, "first_cut": ["1"]}},
    {"tally": TALLY | {"broken_bytes": "x"}},
    {"tally": TALLY | {"utf16": None}},
]


@pytest.mark.parametrize("values", DAMAGE)
def test_a_damaged_journal_says_what_to_do_and_overwriting_begins_afresh(tmp_path, values):
    path, progress = tmp_path / "out", tmp_path / "out.progress"
    stop(None, path, stopping=UpperStopping())
    change(progress, **values)
    with pytest.raises(ArgumentError, match=r"egin anew with `overwrite=True`\.$") as caught:
        run(None, path, work=Upper())
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1500
    assert run(None, path, work=Upper(), overwrite=True).lines == 25
    assert path.read_bytes() == SOURCE.upper()
    assert [one.name for one in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b"null", b"[" * 5000, b'{"lines": ' + b"9" * 5000 + b"}"])
def test_a_journal_that_is_none_says_so_and_overwriting_begins_afresh(tmp_path, content):
    path, progress = tmp_path / "out", tmp_path / "out.progress"
    stop(None, path, stopping=UpperStopping())
    progress.write_bytes(content)
    with pytest.raises(
        DataError, match=r"out\.progress must be what `regard translate` wrote; received: .* Begin anew with"
    ):
        run(None, path, work=Upper())
    assert run(None, path, work=Upper(), overwrite=True).lines == 25
    assert path.read_bytes() == SOURCE.upper()


def test_a_part_that_is_not_as_long_as_its_journal_says_is_not_gone_on_with(tmp_path):
    path, partial = tmp_path / "out", tmp_path / "out.partial"
    stop(None, path, stopping=UpperStopping())
    whole = partial.read_bytes()
    for damaged, received in ((whole.replace(b"\n", b" ", 1), "7"), (whole[:-1] + b" ", "7 and a part of one")):
        partial.write_bytes(damaged)
        message = (
            f"must have the 8 lines that out.progress speaks of in its first {len(whole)} bytes; received {received}."
        )
        with pytest.raises(DataError, match=re.escape(message)):
            run(None, path, work=Upper())
    partial.write_bytes(whole)
    run(None, path, work=Upper())
    assert path.read_bytes() == SOURCE.upper()


@pytest.mark.parametrize("name", ["out.partial", "out.progress"])
def test_what_cannot_be_written_is_one_paragraph(tmp_path, name):
    (tmp_path / name).mkdir()
    for overwrite in (False, True):
        with pytest.raises(
            ArgumentError, match=rf"`output` must be a file that can be written; .*{name} cannot \(Is a"
        ):
            run(None, tmp_path / "out", work=Upper(), overwrite=overwrite)


def test_a_folder_or_a_name_that_cannot_be_written_is_one_paragraph(tmp_path, monkeypatch):
    message = r"`output` must be a file that can be written; .* cannot \(File name too long\)\. Name another"
    for name in ("x" * 250, "x" * 5000):
        with pytest.raises(ArgumentError, match=message):
            run(None, tmp_path / name, work=Upper())

    def refuse(path, *_, **__):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(
        ArgumentError, match=r"`output` must be a file that can be written; .* cannot \(Permission denied"
    ):
        run(None, tmp_path / "out", work=Upper())
    monkeypatch.undo()

    def fill(path, *_, **__):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(Path, "open", fill)
    with pytest.raises(OSError, match="No space left on device"):  # the command line knows what to say of it
        run(None, tmp_path / "out", work=Upper())


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, zstandard.ZstdCompressor().compress])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_compressed_input_goes_on_too(tmp_path, pack, overwrite):
    (tmp_path / "in").write_bytes(pack(SOURCE))
    path = tmp_path / "out"
    with open_decompressed(tmp_path / "in") as stream, pytest.raises(KeyboardInterrupt):
        translate_file(UpperStopping(), stream, path, settings=SETTINGS, chunk_lines=4)
    told = []
    with open_decompressed(tmp_path / "in") as stream:
        translate_file(
            Upper(),
            stream,
            path,
            settings=SETTINGS,
            chunk_lines=4,
            overwrite=overwrite,
            watch=lambda lines, size: told.append(lines),
        )
    assert told[0] == 8
    assert path.read_bytes() == SOURCE.upper()


def answer(translator, content, settings=GREEDY):
    work, target = LineTranslator(translator, settings), io.BytesIO()
    translate_stream(work, io.BytesIO(content), target)
    return target.getvalue().decode(), work.warnings()


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", 0),
        (b"\n", 1),
        (b"el libro", 1),
        (b"\r\n  \r\n\t\nel libro\r\n", 4),
        ("a\u2028b\x85c\x0cd\x0be\x1cf\n\x00\n🙂 שלום\n".encode(), 3),
    ],
)
def test_the_number_of_lines_is_kept(translator, content, lines):
    text, warnings = answer(translator, content)
    assert (text.count("\n"), warnings) == (lines, [])
    assert text.endswith("\n") or not lines


def test_carriage_returns_and_empty_lines_change_nothing(translator):
    text, _ = answer(translator, b"\r\nel libro\r\n   \r\n")
    plain, _ = answer(translator, b"el libro\n")
    assert text == f"\n{plain}\n"


def test_broken_bytes_and_long_lines_are_warned_of_once(translator):
    content = b"".join(b"\xff\xfe %d\n" % number for number in range(7)) + b"el libro " * 5000 + b"\n"
    text, warnings = answer(translator, content)
    assert text.count("\n") == 8
    assert warnings == [
        "Lines must be UTF-8; 7 of them (1, 2, 3, 4, 5, …) had 14 bytes that no UTF-8 has, replaced by U+FFFD. It "
        "looks like UTF-16: convert it with iconv -f UTF-16 -t UTF-8.",
        "Lines must have at most 1,024 tokens to be read whole; line 8 had more, and the rest was left out. Divide "
        "them into sentences.",
    ]


def test_several_outputs_have_tabs_between_them(translator):
    text, _ = answer(translator, b"el libro\n\n", Translate(n_best=3, max_length=8))
    first, second, _ = text.split("\n")
    assert first.count("\t") == 2
    assert second == ""


def test_json_tells_everything(translator):
    source = pairs()[0].source
    content = f"{source}\n\n".encode()
    text, _ = answer(translator, content, Translate(beam=2, json=True, max_length=8))
    told, empty = (json.loads(line) for line in text.split("\n")[:-1])
    best = translator.search([source], Search(beam=2, max_length=8), weights=True)[0][0]
    assert set(told) == {
        "source", "read_as", "text", "score", "log_probability", "finished", "tokens", "source_tokens", "alignment",
        "weights",
    }  # fmt: skip
    assert (told["source"], told["text"], told["tokens"]) == (source, best.text, list(best.target_tokens))
    aligned = translator.align([(source, best.text)], words="whitespace")[0]
    assert told["alignment"] == " ".join(f"{link.source}-{link.target}" for link in best.links_by("whitespace"))
    assert max(int(link.split("-")[0]) for link in told["alignment"].split()) < len(aligned.source)
    assert (len(told["weights"]), len(told["weights"][0])) == best.weights.shape[2:]
    assert sum(told["weights"][0]) == pytest.approx(1, abs=1e-3)
    assert told["score"] == pytest.approx(best.score, abs=1e-5)
    assert (empty["text"], empty["tokens"], empty["weights"], empty["alignment"]) == ("", [], [], "")
    text, _ = answer(translator, content, Translate(n_best=2, json=True, weights="all", max_length=8))
    told = json.loads(text.split("\n")[0])
    assert told["n_best"][0]["text"] == told["text"]
    assert len(told["n_best"]) == 2
    assert len(told["weights"][0]) == 1  # layers, heads
    text, _ = answer(translator, content, Translate(json=True, weights="none", max_length=8))
    assert not {"weights", "alignment"} & json.loads(text.split("\n")[0]).keys()


@pytest.mark.parametrize("json", [True, False])
def test_what_was_chosen_by_nan_is_no_answer(tmp_path, json):
    broken = load(make_folder(tmp_path))
    broken.model.output.bias.data[:] = float("nan")
    message = r"The model must give probabilities; received NaN for 'el libro'\. Its parameters may be damaged"
    with pytest.raises(NotFiniteError, match=message):
        answer(broken, b"el libro\n", Translate(json=json, weights="none", max_length=4))


def test_every_line_begins_with_the_prefix(translator):
    text, _ = answer(translator, b"el libro\n\nuna casa\n", Translate(prefix="the house", max_length=8))
    first, empty, last, _ = text.split("\n")
    assert first.startswith("the house")
    assert last.startswith("the house")
    assert empty == ""


def test_the_budget_must_be_something():
    with pytest.raises(ArgumentError, match=r"`batch_tokens` must be at least 1; received 0."):
        Translate(batch_tokens=0)

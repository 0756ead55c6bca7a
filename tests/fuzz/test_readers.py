"""Every reader of data, given files damaged in many ways: only errors on purpose come out, soon, and memory stays.

Here some thousand cases; `python tests/fuzz/long_readers.py` runs as many as you like.
"""

import bz2
import gzip
import io
import json
import lzma
import resource
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
import zstandard
from PIL import Image
from pyarrow import ipc, parquet

from fuzz.mutate import mutations, within
from regard.data.corpora.corpus import find_corpus
from regard.data.corpora.pair import Pair
from regard.data.formats import Parquet, SavedDataset, Tmx, TwoFiles
from regard.data.formats.labeled import find_labels, number_labels, read_labeled, read_texts
from regard.data.formats.lines import read_lines
from regard.data.formats.pharaoh import Lengths, read_links
from regard.data.formats.records import Corpus
from regard.data.images.picture import SUFFIXES, read_picture
from regard.data.images.read import read_images
from regard.data.scenes.easy_vqa import read_easy_vqa
from regard.data.scenes.read import read_questions
from regard.errors import RegardError
from regard.tasks.evaluation.held_out import HeldOut, read_hypotheses
from regard.tasks.language.data import gather_text
from regard.tasks.language.settings import TextData
from regard.tasks.text_lines import split_lines, understand
from regard.tasks.translation.files import OutputFile, translate_file
from regard.tasks.translation.unknown_words import read_dictionary
from unit.data.images.pictures import cifar, idx
from unit.tasks.translators import Upper

SECONDS = 20.0
"""That one case may take, on a machine that is busy; alone, the slowest take a quarter of a second."""
GROWTH = 300 << 10
"""KiB that memory may grow by, in all cases of a target together."""
LONGEST = 1_500
"""Letters of a message, without the path of the file."""
ROWS = [("Ein Hund läuft.", "A dog runs."), ("Zwei Katzen", "Two cats"), ("Das 3. Buch", "The 3rd book")] * 3
SOURCE = "".join(f"{source}\n" for source, _ in ROWS).encode()
LINKS = b"0-0 1?1 2-2\n0-0 1-1\n0-0 1-2 2p1\n"
TRANSLATED = {"settings": {"beam": "1"}, "chunk_lines": 3}


class Target(NamedTuple):
    """What is damaged, the name of its file, and whoever reads it from its folder."""

    content: bytes
    file: str
    use: Callable[[Path], object]
    cases: int = 40
    make: Callable[[Path], object] = lambda folder: None


def read_corpus(corpus: Corpus) -> None:
    for record in corpus.records():
        str(record)


def reads_pairs(name: str) -> Callable[[Path], object]:
    return lambda folder: read_corpus(find_corpus(folder / name))


def read_labels(path: Path) -> None:
    records = list(read_labeled(path))
    number_labels(records, find_labels(records), side="test")


def read_columns(path: Path) -> None:
    records = list(read_labeled(path, text="1", label="2"))
    number_labels(records, ["good", "bad", "3"], side="test")


def read_stream(folder: Path) -> None:
    """Read as `regard translate` does, and as every other reader of lines."""
    list(read_lines(folder / "a"))
    from regard.data.formats.compressed import open_decompressed

    with open_decompressed(folder / "a") as stream:
        for lines in split_lines(stream):
            for line in lines:
                understand(line)


def read_output(folder: Path) -> None:
    read_hypotheses(folder / "a", HeldOut(pairs=[Pair(source="a", target="b")] * 9, name="x"))


def make_journal(folder: Path) -> None:
    """Stop a translation half way."""

    class Stopping(Upper):
        def __call__(self, raw: object) -> bytes:
            if self.lines:
                raise KeyboardInterrupt
            return super().__call__(raw)

    shutil.rmtree(folder)
    folder.mkdir()
    with pytest.raises(KeyboardInterrupt):
        translate_file(Stopping(), io.BytesIO(SOURCE), folder / "out", **TRANSLATED)


def go_on(folder: Path) -> None:
    """Go on with what is left of a journal; what comes of it is whole, or it is refused, and then begun anew."""
    try:
        translate_file(Upper(), io.BytesIO(SOURCE), folder / "out", **TRANSLATED)
    except RegardError:
        translate_file(Upper(), io.BytesIO(SOURCE), folder / "out", overwrite=True, **TRANSLATED)
        assert (folder / "out").read_bytes() == SOURCE.upper()
        raise
    finally:
        written = (folder / "out").read_bytes()
        make_journal(folder)
    assert written == SOURCE.upper()


def journal() -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        make_journal(Path(folder))
        return OutputFile(Path(folder) / "out").progress.read_bytes()


def tmx(encoding: str) -> bytes:
    units = "".join(
        f'<tu><tuv xml:lang="de"><seg>{source}</seg></tuv>\n'
        f'<tuv xml:lang="en"><seg>{target} &amp; <ph>x</ph></seg></tuv></tu>\n'
        for source, target in ROWS
    ).replace("ä", "a")
    return f'<?xml version="1.0" encoding="{encoding}"?>\n<tmx><header srclang="de"/><body>{units}</body></tmx>'.encode(
        encoding
    )


def table() -> pa.Table:
    rows = [{"translation": {"de": source, "en": target}, "id": number} for number, (source, target) in enumerate(ROWS)]
    return pa.Table.from_pylist(rows)


def arrow() -> bytes:
    sink = io.BytesIO()
    with ipc.new_stream(sink, table().schema) as writer:
        writer.write_table(table())
    return sink.getvalue()


def parquet_file() -> bytes:
    sink = io.BytesIO()
    parquet.write_table(table(), sink)
    return sink.getvalue()


def make_saved(folder: Path) -> None:
    (folder / "data.arrow").write_bytes(arrow())
    (folder / "state.json").write_text(STATE)


STATE = json.dumps({"_data_files": [{"filename": "data.arrow"}], "_fingerprint": "a", "_split": None})


def picture(format: str, mode: str = "RGB") -> bytes:
    pixels = np.random.default_rng(7).integers(0, 256, (9, 11, 3), dtype=np.uint8)
    sink = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(sink, format=format)
    return sink.getvalue()


def make_pictures(folder: Path) -> None:
    for name in ("red/a.png", "red/b.png", "blue/a.png", "images/0.png", "images/1.png"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(picture("PNG"))
    (folder / "questions.json").write_text(EASY)


EASY = json.dumps([["what shape?", "circle", 0], ["is it red?", "no", 1], ["how many?", "2", 1]])
QUESTIONS = "".join(
    json.dumps({"image": f"images/{number % 2}.png", "question": f"how {number}?", "answer": answer}) + "\n"
    for number, answer in enumerate([1, "two", 3.5, "yes"])
)


def archive() -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w", format=tarfile.PAX_FORMAT) as packed:
        pictures = [(f"train/images/{number}.png", picture("PNG")) for number in range(2)]
        for name, content in [("train/questions.json", EASY.encode()), *pictures]:
            member = tarfile.TarInfo(name)
            member.size, member.pax_headers = len(content), {"comment": "é"}
            packed.addfile(member, io.BytesIO(content))
        member = tarfile.TarInfo("train/images/2.png")
        member.type, member.linkname = tarfile.LNKTYPE, "train/images/0.png"
        packed.addfile(member)
    return sink.getvalue()


def _texts() -> Iterator[tuple[str, Target]]:
    pairs = "".join(f"{source}\t{target}\n" for source, target in ROWS).encode()
    objects = "".join(json.dumps({"source": source, "target": target, "n": 3}) + "\n" for source, target in ROWS)
    labels = [(source, ("good", "bad", "3")[number % 3]) for number, (source, _) in enumerate(ROWS)]
    yield "TSV", Target(pairs, "a.tsv", reads_pairs("a.tsv"))
    yield "JSON Lines", Target(objects.encode(), "a.jsonl", reads_pairs("a.jsonl"))
    yield "a JSON object", Target(objects.split("\n")[0].encode(), "a.jsonl", reads_pairs("a.jsonl"))
    for encoding in ("utf-8", "utf-16", "shift_jis", "windows-1252"):
        yield f"TMX, {encoding}", Target(tmx(encoding), "a.tmx", lambda folder: read_corpus(Tmx(path=folder / "a.tmx")))
    both = lambda folder: read_corpus(TwoFiles(source=folder / "a", target=folder / "b"))  # noqa: E731
    yield "plain pairs", Target(SOURCE, "a", both, make=lambda folder: (folder / "b").write_bytes(SOURCE))
    yield "running text", Target(SOURCE, "a", lambda folder: gather_text(TextData(text=str(folder / "a"))))
    yield "hypotheses", Target(SOURCE, "a", read_output)
    yield "links", Target(LINKS, "a", lambda folder: read_links(folder / "a", lengths=[Lengths(3, 3)] * 3))
    yield (
        "links from 1",
        Target(b"1-1 2?2\n1-1\n\n3p1\n", "a", lambda folder: read_links(folder / "a", base=1, swapped=True)),
    )
    yield "a dictionary", Target(pairs, "a", lambda folder: read_dictionary(folder / "a"))
    lines = "".join(f'"{text}",{label}\n' for text, label in labels)
    yield "CSV labels", Target(f"text,label\n{lines}".encode(), "a.csv", lambda folder: read_labels(folder / "a.csv"))
    yield "CSV columns", Target(lines.encode(), "a.csv", lambda folder: read_columns(folder / "a.csv"))
    yield (
        "CSV texts",
        Target(f"text,label\n{lines}".encode(), "a.csv", lambda folder: list(read_texts(folder / "a.csv"))),
    )
    lines = "".join(f"{text}\t{label}\n" for text, label in labels)
    yield "TSV labels", Target(f"text\tlabel\n{lines}".encode(), "a.tsv", lambda folder: read_labels(folder / "a.tsv"))
    objects = "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in labels)
    yield "JSON labels", Target(objects.encode(), "a.jsonl", lambda folder: read_labels(folder / "a.jsonl"))


def _packed() -> Iterator[tuple[str, Target]]:
    yield "Parquet", Target(parquet_file(), "a.parquet", lambda folder: read_corpus(Parquet(path=folder / "a.parquet")))
    saved = lambda folder: read_corpus(SavedDataset(path=folder))  # noqa: E731
    yield "state.json", Target(STATE.encode(), "state.json", saved, make=make_saved)
    yield "Arrow", Target(arrow(), "data.arrow", saved, make=make_saved)
    for name, pack in (
        ("gzip", gzip.compress),
        ("bzip2", bz2.compress),
        ("xz", lzma.compress),
        ("zstd", zstandard.ZstdCompressor(write_checksum=True).compress),
    ):
        yield name, Target(pack(SOURCE * 3), "a", read_stream)
    yield "journal", Target(journal(), "out.progress", go_on, 40, make_journal)


def _pictures() -> Iterator[tuple[str, Target]]:
    images, labels = idx(np.arange(120).reshape(6, 5, 4)), idx(np.array([0, 3, 0, 3, 0, 3]))
    beside = {"x-images-idx3-ubyte": labels, "x-labels-idx1-ubyte": images}
    for name, content in (("x-images-idx3-ubyte", images), ("x-labels-idx1-ubyte", labels)):
        other = next(one for one in beside if one != name)
        make = lambda folder, other=other, content=beside[name]: (folder / other).write_bytes(content)  # noqa: E731
        yield name, Target(content, name, lambda folder: read_images(str(folder / "x-images-idx3-ubyte")), make=make)
    yield "CIFAR", Target(cifar([4, 2, 1]), "a.bin", lambda folder: read_images(str(folder / "a.bin"), size=8))
    for format in ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF", "PPM"):
        yield format, Target(picture(format), "a.png", lambda folder: read_picture(folder / "a.png", size=(8, 8)))
    yield (
        "PNG, 16 bits",
        Target(picture("PNG", "I;16"), "a.png", lambda folder: read_picture(folder / "a.png", channels=1)),
    )
    yield "PNG, palette", Target(picture("PNG", "P"), "a.png", lambda folder: read_picture(folder / "a.png"))
    classes = lambda folder: read_images(str(folder), size=8)  # noqa: E731
    yield "a class folder", Target(picture("PNG"), "red/b.png", classes, 20, make_pictures)
    questions = lambda folder: read_questions(folder / "q.jsonl", image_size=8)  # noqa: E731
    yield "questions", Target(QUESTIONS.encode(), "q.jsonl", questions, make=make_pictures)
    easy = lambda folder: read_easy_vqa(folder, image_size=8)  # noqa: E731
    yield "easy-VQA questions", Target(EASY.encode(), "questions.json", easy, make=make_pictures)
    yield "easy-VQA picture", Target(picture("PNG"), "images/1.png", easy, 20, make_pictures)
    tar = lambda folder: read_easy_vqa(folder / "train.tar", image_size=8)  # noqa: E731
    yield "tar", Target(archive(), "train.tar", tar)
    for name, pack in (("gzip", gzip.compress), ("xz", lzma.compress)):
        yield f"tar, {name}", Target(pack(archive()), "train.tar", tar)


TARGETS = dict([*_texts(), *_packed(), *_pictures()])


def attack(target: Target, folder: Path, *, seed: int, count: int) -> list[str]:
    """Damage the file so many times, let it be read, and list what should not have happened."""
    target.make(folder)
    path, found = folder / target.file, []
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number, damaged in enumerate([target.content, *mutations(target.content, seed, count)]):
        path.write_bytes(damaged)
        try:
            with within(seconds=SECONDS):
                target.use(folder)
        except RegardError as error:
            text = str(error).replace(str(folder), "")
            if not number or "\n" in text or len(text) > LONGEST:
                found.append(f"case {number}: {type(error).__name__} of {len(text)} letters: {text[:200]!r}")
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            found.append(f"case {number}: {type(error).__name__}: {str(error)[:200]}")
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return found if grown < GROWTH else [*found, f"memory has grown by {grown >> 10} MiB"]


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.filterwarnings("ignore")  # which Pillow and pyarrow give of what is damaged
def test_only_errors_on_purpose_come_out(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda handle: None)  # all that takes time here
    assert attack(TARGETS[name], tmp_path, seed=7, count=TARGETS[name].cases) == []


def test_every_format_of_pictures_is_damaged() -> None:
    assert len(SUFFIXES) == 10, "a format was added: damage it here too"

"""The first step to the translators: split the pairs, link their words, and write what teachers and students read."""

import random
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from regard.data.corpora.pair import Pair
from regard.data.corpora.split import Fractions, split
from regard.data.formats.lines import read_lines
from translator_parts.chunks import chunk_pairs, label_forms
from translator_parts.copies import copies, join, word_pairs
from translator_parts.files import (
    ALONE,
    KINDS,
    LANGUAGES,
    HeldOut,
    bare_key,
    held_out,
    lines,
    read_side,
    write,
    write_lines,
)
from translator_parts.names import TRAINED, with_words
from translator_parts.phrases import FRAMES, draw_phrases, draw_signs, word_forms

HOLD_OUT = Fractions(valid=0.012, test=0.03)
JOINED = 25_000
"""Lines of several sentences, at most a quarter of the pairs."""
EACH = 50
"""Phrases of each frame."""
SIGNS_EACH = 12
"""Signs of each with something to fill in; any other is there three times, bare and with either mark."""


def prepare(path: Path, work: Path, english: Sequence[Path]) -> None:
    """Write train, valid and test, which share no sentence of either side, word links, and more to train on."""
    work.mkdir(parents=True, exist_ok=True)
    if (work / "runs").exists():
        raise SystemExit(f"{work}/runs must be removed first: it is of other data.")
    for old in [*work.glob("*.translated"), *work.glob("student-*"), work / "alone.es"]:
        old.unlink(missing_ok=True)
    before = read_side(work / "train")
    sides = split(read(path), HOLD_OUT)
    originals = HeldOut([*sides.valid, *sides.test]).free(sides.train)
    parts = {"train": originals, "valid": sides.valid, "test": sides.test}
    for name, pairs in parts.items():
        write(work / name, pairs)
    apart = held_out(work)
    if before != originals:
        (work / "links.es-en").unlink(missing_ok=True)
    link(work)
    chance = random.Random(1)
    names = with_words(TRAINED, (text for pair in originals for text in (pair.source, pair.target)))
    parts["copies"] = apart.free(copies(originals, chance, names))
    parts["phrases"] = apart.free(draw_phrases(FRAMES, EACH, names, chance))
    parts["signs"] = apart.free(draw_signs(SIGNS_EACH, names, chance))
    links = lines(work / "links.es-en")
    parts["words"] = apart.free(word_forms(word_pairs(originals, links)))
    parts["chunks"] = apart.free(label_forms(chunk_pairs(originals, links)))
    joined = min(JOINED, len(originals) // 4)
    parts["joined"] = apart.free(join([*originals, *parts["copies"], *parts["phrases"]], joined, chance))
    taught = ("copies", "phrases", "signs", "words", "chunks")
    parts["teacher"] = apart.free([*originals, *(pair for name in taught for pair in parts[name])])
    for name in (*KINDS, "teacher"):
        write(work / name, parts[name])
    learn_pieces(work, parts["teacher"])
    for language, side in zip(LANGUAGES, ("source", "target"), strict=True):
        texts = list(dict.fromkeys(getattr(pair, side) for pair in originals))
        chance.shuffle(texts)  # so that translations that are cut short are of all lengths
        write_lines(work / f"more.{language}", texts)
    known = {bare_key(pair.target) for pair in originals}
    alone = dict.fromkeys(pair.target for other in english for pair in read(other))
    texts = [text for text in alone if (key := bare_key(text)) not in known and key not in apart.targets]
    write_lines(work / "alone.en", in_order(texts, chance))
    for name, pairs in parts.items():
        print(f"{name}: {len(pairs):,} pairs")
    print(f"alone: {len(texts):,} English sentences")


def read(path: Path) -> list[Pair]:
    """Read the pairs, Spanish first, each once."""
    rows = [str(line).split("\t") for line in read_lines(path)]
    pairs = [Pair(source=" ".join(row[1].split()), target=" ".join(row[0].split())) for row in rows]
    return list({(pair.source, pair.target): pair for pair in pairs}.values())


def link(work: Path) -> None:
    """Link the words of the pairs by counts, unless that is done; some minutes."""
    made = work / "links.es-en"
    if made.is_file():
        return
    sides = ["--source", f"{work}/train.es", "--target", f"{work}/train.en"]
    command = [sys.executable, "-m", "regard", "align", "hmm", "--reverse", "hmm", "--words", "marks", *sides]
    with (work / "links.part").open("w", encoding="utf-8") as file:
        subprocess.run(command, stdout=file, check=True)
    (work / "links.part").replace(made)


def learn_pieces(work: Path, pairs: Sequence[Pair]) -> None:
    """Learn one vocabulary for all runs, so that teachers can translate together; a digit is a piece by itself."""
    from regard.data.text.tokenizer_training import TokenizerConfig, train_tokenizers

    def apart(text: str) -> str:
        return re.sub(r"(?<=\d)(?=\d)", " ", text)

    texts = (Pair(source=apart(pair.source), target=apart(pair.target)) for pair in pairs)
    pieces = train_tokenizers(texts, TokenizerConfig(vocabulary_size=8000))
    (work / "tokenizer.json").write_text(pieces.to_json(), encoding="utf-8")


def in_order(texts: Sequence[str], chance: random.Random) -> list[str]:
    """Put those to translate first, at random: all of 7 to 20 words, which the pairs lack, and some shorter ones."""
    counts = [(len(text.split()), text) for text in texts]
    long = [text for count, text in counts if 7 <= count <= 20]
    short = [text for count, text in counts if 2 <= count < 7]
    chance.shuffle(short)
    first = [*long, *short][:ALONE]
    chance.shuffle(first)
    return list(dict.fromkeys([*first, *texts]))

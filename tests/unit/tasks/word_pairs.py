"""Sentence pairs of ten words, translated word by word: what a small translator learns in a minute."""

import random

from regard.data.corpora.pair import Pair

SPANISH = ["uno", "dos", "tres", "casa", "gato", "perro", "rojo", "verde", "come", "duerme"]
ENGLISH = ["one", "two", "three", "house", "cat", "dog", "red", "green", "eats", "sleeps"]
WORDS = dict(zip(SPANISH, ENGLISH, strict=True))


def make_pairs(count, seed=0):
    drawn = random.Random(seed)
    for _ in range(count):
        words = drawn.choices(SPANISH, k=drawn.randint(2, 8))
        yield Pair(source=" ".join(words), target=" ".join(WORDS[word] for word in words))


def write_pairs(folder, pairs, name="a"):
    folder.mkdir(exist_ok=True)
    pairs = list(pairs)
    for side in ("source", "target"):
        (folder / f"{name}.{side}").write_text("".join(f"{getattr(pair, side)}\n" for pair in pairs))
    return {side: str(folder / f"{name}.{side}") for side in ("source", "target")}

"""Divide a file of sentence pairs into train, valid and test, so that no sentence of either side is in two of them.

    python recipes/split_pairs.py data/tatoeba/eng-spa.tsv data/tatoeba/es-en --source 2 --target 1 \
        --languages es en --valid 0.01 --test 0.02

Pairs that share a sentence, directly or through others, stay together; which side they go to follows from a hash of
their sentences. `--exclude FILE` names a corpus, such as an outside test, none of whose sentences may be in the output.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from regard.data.corpora.cleaning import Cleaning, clean
from regard.data.corpora.corpus import find_corpus, read_pairs
from regard.data.corpora.pair import Pair
from regard.data.corpora.sentence_groups import SentenceHashes
from regard.data.corpora.split import TEST, TRAIN, VALID, Fractions, HeldOut, choose_sides


def split(pairs: Sequence[Pair], *, valid: float, test: float) -> dict[str, list[Pair]]:
    """Divide pairs by connected components."""
    hashes = SentenceHashes()
    for pair in pairs:
        hashes.add(pair)
    sides = choose_sides(hashes, Fractions(valid=valid, test=test))
    numbers = {"train": TRAIN, "valid": VALID, "test": TEST}
    return {
        name: [pair for pair, side in zip(pairs, sides, strict=True) if side == number]
        for name, number in numbers.items()
    }


def main() -> None:
    """Read, divide and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=str)
    parser.add_argument("out", type=Path)
    parser.add_argument("--source", default=None, help="column of the source")
    parser.add_argument("--target", default=None, help="column of the target")
    parser.add_argument("--languages", nargs=2, default=("source", "target"), help="endings of the files")
    parser.add_argument("--valid", type=float, default=0.01)
    parser.add_argument("--test", type=float, default=0.02)
    parser.add_argument("--exclude", nargs="*", default=[], help="corpora none of whose sentences may be in the output")
    given = parser.parse_args()
    columns = {"source": given.source, "target": given.target}
    pairs = list(clean(read_pairs(find_corpus(given.corpus, **columns), bad="skip"), Cleaning()))
    outside = HeldOut([pair for name in given.exclude for pair in read_pairs(find_corpus(name, **columns), bad="skip")])
    kept = [pair for pair in pairs if not outside.shares(pair)]
    given.out.mkdir(parents=True, exist_ok=True)
    for name, some in split(kept, valid=given.valid, test=given.test).items():
        for language, side in zip(given.languages, ("source", "target"), strict=True):
            lines = "".join(f"{getattr(pair, side)}\n" for pair in some)
            (given.out / f"{name}.{language}").write_text(lines, encoding="utf-8")
        print(f"{name}: {len(some):,} pairs")


if __name__ == "__main__":
    main()

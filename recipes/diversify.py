"""Join a corpus with translations of it by models of both directions.

Reference: data diversification, Nguyen et al. (2020), arXiv:1911.01986.

    regard train recipes/multi30k-en-de.toml                           # models of one direction, two seeds
    regard train recipes/multi30k-en-de.toml --out runs/backward …     # and of the other, each file exchanged
    regard translate runs/multi30k-en-de --input train.en --output forward.de
    regard translate runs/backward --input train.de --output backward.en
    python recipes/diversify.py train.en train.de out/train.en out/train.de --forward forward.de --backward backward.en

Every target of the corpus gets more sources, every source more targets; each pair is kept once.
"""

import argparse
import lzma
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("source", "target", "source_out", "target_out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--forward", type=Path, nargs="*", default=[], help="translations of the source file")
    parser.add_argument("--backward", type=Path, nargs="*", default=[], help="translations of the target file")
    options = parser.parse_args()
    source, target = lines(options.source), lines(options.target)
    sides = [(source, target), *((source, lines(path)) for path in options.forward)]
    sides += [(lines(path), target) for path in options.backward]
    pairs = dict.fromkeys(
        pair for side in sides for pair in zip(*side, strict=True) if all(text.strip() for text in pair)
    )
    for number, path in enumerate((options.source_out, options.target_out)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{pair[number]}\n" for pair in pairs), encoding="utf-8")
    print(f"{len(pairs):,} pairs of {len(source):,}")


def lines(path: Path) -> list[str]:
    """Read the lines of a file, compressed by xz or not."""
    if path.is_file():
        return path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    with lzma.open(path.with_name(f"{path.name}.xz"), "rt", encoding="utf-8") as packed:
        return packed.read().removesuffix("\n").split("\n")


if __name__ == "__main__":
    main()

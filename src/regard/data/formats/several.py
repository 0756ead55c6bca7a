"""Several files as one corpus: a pattern such as parts/*.tsv, a folder, or names one after the other."""

import glob
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from regard.data.formats.paths import file_kind, is_file, is_folder, list_folder, shown
from regard.errors import DataError

_SPLITS = ("train", "valid", "validation", "val", "dev", "test")


def match_paths(name: str | Path) -> list[Path]:
    """Give what a pattern with *, ? or [ matches, sorted; for any other name, or one that is there, its path."""
    path = Path(name)
    if not glob.has_magic(str(name)) or is_file(path) or is_folder(path):
        return [path]
    matched = sorted(map(Path, glob.glob(str(name), recursive=True)))
    if not matched:
        raise DataError(
            f"{shown(path)} must match at least one file; received a pattern that matches none. Check it, and quote it "
            "so that the shell leaves it alone."
        )
    return matched


def find_in_folder(folder: Path, *, kinds: Sequence[str], split: str) -> list[Path]:
    """Give the files of a folder that hold a split, sorted: those called train.tsv, or else train-0.tsv, train-1.tsv.

    Where no file is named after any split, all whose names end as `kinds` say are parts of one corpus.
    """
    files = [item for item in list_folder(folder) if file_kind(item) in kinds and not item.name.startswith(".")]
    stems = [item.name.partition(".")[0].lower() for item in files]
    if whole := [item for item, stem in zip(files, stems, strict=True) if stem == split]:
        return whole
    if parts := [item for item, stem in zip(files, stems, strict=True) if _is_part(stem, split)]:
        return parts
    divided = any(stem == name or _is_part(stem, name) for stem in stems for name in _SPLITS)
    return [] if divided else files


def _is_part(stem: str, split: str) -> bool:
    """Return whether a name is that of a part of a split.

    >>> _is_part("train-00", "train"), _is_part("trainer", "train")
    (True, False)
    """
    return stem.startswith((f"{split}-", f"{split}_"))


def in_order(paths: Iterable[Path]) -> list[Path]:
    """Sort paths by name, whatever folder they are named from, and leave out one of the same file as another."""
    unique = {path.resolve(): path for path in reversed(list(paths))}
    return sorted(unique.values(), key=lambda path: Path(os.path.abspath(path)))

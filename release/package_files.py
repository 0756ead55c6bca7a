"""What a wheel and an sdist hold: everything that is needed, nothing else, within the limits of the index."""

import tarfile
import zipfile
from collections import Counter
from pathlib import Path

LIMIT = 100_000_000
"""Bytes of a file that PyPI takes where nobody has asked for more."""
UNWANTED = ("node_modules", ".venv", "__pycache__", ".git", ".cache", "site", "runs", ".pytest_cache", ".mypy_cache")
"""Folders that are made here and never published."""
OF_SDIST = ("docs", "examples", "recipes", "tests", "benchmarks", "web", "release", ".ci", ".github", ".devcontainer")
"""Folders beside src that an sdist holds whole, so that its tests pass."""


class ReleaseError(Exception):
    """Something that must not be published."""


def list_files(archive: Path) -> dict[str, int]:
    """Give the size of every file of an archive by its name; in an sdist, below its one folder."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return {item.filename: item.file_size for item in wheel.infolist() if not item.is_dir()}
    with tarfile.open(archive) as sdist:
        return {item.name.partition("/")[2]: item.size for item in sdist.getmembers() if item.isfile()}


def check_files(archive: Path, names: dict[str, int], root: Path) -> None:
    """Raise where a file is missing, is not to be published, or the archive is too large for the index."""
    wheel = archive.suffix == ".whl"
    wanted = _wanted(root / "src" / "regard", "regard" if wheel else "src/regard")
    if not wheel:
        wanted |= {name for folder in OF_SDIST for name in _wanted(root / folder, folder)}
        wanted |= {path.name for path in root.iterdir() if path.suffix in (".md", ".toml", ".txt", ".yml", ".cff")}
        wanted |= {"Makefile", "Dockerfile", "LICENSE"}
    if missing := sorted(wanted - names.keys()):
        raise ReleaseError(f"{archive.name} must hold {missing[0]}; it lacks {len(missing):,} such files.")
    for name in sorted(names):
        if unwanted := {*Path(name).parts} & {*UNWANTED}:
            raise ReleaseError(f"{archive.name} must not hold a folder {unwanted.pop()}; it has {name}.")
        if wheel and name.partition("/")[0] != "regard" and ".dist-info/" not in name:
            raise ReleaseError(f"{archive.name} must hold regard alone; it has {name}.")
    if archive.stat().st_size > LIMIT:
        raise ReleaseError(
            f"{archive.name} must be at most {LIMIT / 1e6:.0f} MB; it is {archive.stat().st_size / 1e6:.1f} MB."
        )


def describe(archive: Path, names: dict[str, int]) -> str:
    """Give size and contents of an archive, a line for each folder."""
    start = 1 if archive.suffix == ".whl" else 0
    files, sizes = Counter[str](), Counter[str]()
    for name, size in names.items():
        parts = name.split("/")
        folder = "/".join(parts[: start + 1]) if len(parts) > start + 1 else "/".join([*parts[:start], "(files)"])
        files[folder] += 1
        sizes[folder] += size
    lines = [f"  {folder:32}{files[folder]:6,} files {size / 1e6:8.2f} MB" for folder, size in sizes.most_common()]
    total = f"{archive.name}: {archive.stat().st_size / 1e6:.2f} MB, {len(names):,} files"
    return "\n".join([f"{total}, {sum(sizes.values()) / 1e6:.2f} MB unpacked", *lines])


def _wanted(folder: Path, prefix: str) -> set[str]:
    """List the files of a folder that are not made by running it."""
    files = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    return {f"{prefix}/{path.as_posix()}" for path in files if not {*path.parts} & {*UNWANTED}}

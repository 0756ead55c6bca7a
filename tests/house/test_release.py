"""What is published: the same version everywhere, archives that hold what they must, links that work on an index."""

import io
import re
import shutil
import tarfile
import zipfile

import package_files
import pytest
import readme_hook
import versions
from package_files import ReleaseError

from house.source import ROOT
from regard import __version__

WRITTEN = ("pyproject.toml", "CHANGELOG.md", "CITATION.cff", "src/regard/__init__.py")


@pytest.fixture
def tree(tmp_path):
    """Give a tree with the files that a version is written in."""
    for name in WRITTEN:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def edit(path, pattern, replacement):
    text, count = re.subn(pattern, replacement, path.read_text(encoding="utf-8"), count=1, flags=re.MULTILINE)
    assert count == 1
    path.write_text(text, encoding="utf-8")


def test_this_tree_has_one_version():
    assert versions.check_versions(ROOT) == __version__


@pytest.mark.parametrize(
    ("name", "pattern", "replacement"),
    [
        ("CHANGELOG.md", r"^## \d+\.\d+\.\d+ ", "## 9.9.9 "),
        ("CITATION.cff", r"^version: .*$", "version: 9.9.9"),
        ("src/regard/__init__.py", r"^__version__ = .*$", '__version__ = "9.9.9"'),
    ],
)
def test_another_version_is_refused_by_its_file(tree, name, pattern, replacement):
    edit(tree / name, pattern, replacement)
    message = f"^{name} must have the version of pyproject.toml, {__version__}; it has 9.9.9\\.$"
    with pytest.raises(ReleaseError, match=message):
        versions.check_versions(tree)


def test_a_changelog_without_a_heading_is_refused(tree):
    (tree / "CHANGELOG.md").write_text("# Changelog\n")
    with pytest.raises(ReleaseError, match=r"^CHANGELOG.md must have a heading such as `## 0.1.0 \(2026-11-18\)`"):
        versions.check_versions(tree)


def test_a_tag_must_be_of_the_version_and_dated(tree):
    with pytest.raises(ReleaseError, match=rf"^the tag must be v{__version__}, .* received v9\.9\.9\.$"):
        versions.check_versions(tree, tag="v9.9.9")
    edit(tree / "CHANGELOG.md", rf"^## {__version__} \(.*\)$", f"## {__version__} (unreleased)")
    with pytest.raises(ReleaseError, match=rf"^CHANGELOG.md must have the date of {__version__}; "):
        versions.check_versions(tree, tag=f"v{__version__}")
    edit(tree / "CHANGELOG.md", r"\(unreleased\)", "(2026-12-01)")
    assert versions.check_versions(tree, tag=f"v{__version__}") == __version__


@pytest.fixture
def small_tree(tmp_path):
    """Give a tree that could be published."""
    root = tmp_path / "tree"
    folders = ["src/regard", *package_files.OF_SDIST]
    for name in [*(f"{folder}/a.py" for folder in folders), "Makefile", "Dockerfile", "LICENSE", "pyproject.toml"]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    return root


def write_wheel(path, names):
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "x" * 10)
    return path


def write_sdist(path, names):
    with tarfile.open(path, "w:gz") as archive:
        for name in names:
            item = tarfile.TarInfo(f"regard-1/{name}")
            item.size = 10
            archive.addfile(item, io.BytesIO(b"x" * 10))
    return path


WHEEL = ("regard/a.py", "regard-1.dist-info/METADATA")


def check(archive, root):
    names = package_files.list_files(archive)
    package_files.check_files(archive, names, root)
    return package_files.describe(archive, names)


def test_archives_that_hold_everything_are_described(small_tree, tmp_path):
    shown = check(write_wheel(tmp_path / "regard-1.whl", WHEEL), small_tree)
    assert re.search(r"^regard-1\.whl: 0\.00 MB, 2 files, 0\.00 MB unpacked$", shown, re.MULTILINE)
    names = [path.relative_to(small_tree).as_posix() for path in small_tree.rglob("*") if path.is_file()]
    shown = check(write_sdist(tmp_path / "regard-1.tar.gz", names), small_tree)
    assert re.search(r"^  docs +1 files", shown, re.MULTILINE)


@pytest.mark.parametrize("left_out", ["docs/a.py", "examples/a.py", "recipes/a.py", "tests/a.py", "Makefile"])
def test_an_sdist_without_what_its_tests_need_is_refused(small_tree, tmp_path, left_out):
    names = {path.relative_to(small_tree).as_posix() for path in small_tree.rglob("*") if path.is_file()} - {left_out}
    with pytest.raises(ReleaseError, match=rf"^regard-1\.tar\.gz must hold {left_out}; it lacks 1 such files\.$"):
        check(write_sdist(tmp_path / "regard-1.tar.gz", names), small_tree)


def test_a_wheel_holds_the_package_and_nothing_else(small_tree, tmp_path, monkeypatch):
    wheel = tmp_path / "regard-1.whl"
    with pytest.raises(ReleaseError, match=r"^regard-1\.whl must hold regard/a\.py; "):
        check(write_wheel(wheel, WHEEL[1:]), small_tree)
    with pytest.raises(ReleaseError, match=r"^regard-1\.whl must hold regard alone; it has tests/a\.py\.$"):
        check(write_wheel(wheel, [*WHEEL, "tests/a.py"]), small_tree)
    with pytest.raises(ReleaseError, match=r"must not hold a folder __pycache__; it has regard/__pycache__/a\.pyc\.$"):
        check(write_wheel(wheel, [*WHEEL, "regard/__pycache__/a.pyc"]), small_tree)
    monkeypatch.setattr(package_files, "LIMIT", 100)
    with pytest.raises(ReleaseError, match=r"^regard-1\.whl must be at most 0 MB; it is 0\.0 MB\.$"):
        check(write_wheel(wheel, WHEEL), small_tree)


def test_the_page_of_an_index_has_no_relative_links():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(readme_hook.LINK.findall(text)) > 20
    page = readme_hook.absolute_links(text, "https://example.org/x", "v1")
    assert re.findall(r"\]\((?!https?:|#)[^)]*\)", page) == []
    assert "![The studio: a translation" in page
    assert "](https://example.org/x/raw/v1/docs/figures/studio-translate.png)" in page
    assert "](https://example.org/x/blob/v1/ARCHITECTURE.md)" in page

"""The studio's built page is that of its sources. Python alone can tell; `make test-browser` compares every byte."""

import hashlib
import re

from house.source import PACKAGE, ROOT

WEB, BUILT = ROOT / "web", PACKAGE / "studio" / "static"
TOP = ("index.html", "style.css", "package.json", "build.mjs")


def digest() -> str:
    """Hash the sources as web/build.mjs does."""
    inner = [path for path in (WEB / "src").rglob("*") if path.suffix in (".ts", ".css")]
    names = sorted([*TOP, *(path.relative_to(WEB).as_posix() for path in inner)])
    found = hashlib.sha256()
    for name in names:
        found.update(f"{name}\0".encode() + (WEB / name).read_bytes() + b"\0")
    return found.hexdigest()


def test_the_bundle_was_built_from_these_sources() -> None:
    for name in ("studio.js", "studio.css"):
        banner = re.match(r"/\* regard studio; sources ([0-9a-f]{64}) \*/", (BUILT / name).read_text(encoding="utf-8"))
        assert banner is not None
        assert banner.group(1) == digest(), f"{name} is older than web/: run `make web`, and commit what it builds"
    assert (BUILT / "index.html").read_bytes() == (WEB / "index.html").read_bytes()


def test_the_bundle_loads_nothing_from_elsewhere() -> None:
    for path in BUILT.iterdir():
        addresses = set(re.findall(r"https?://[\w./-]+", path.read_text(encoding="utf-8")))
        assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"}, path.name


def test_the_lock_file_names_no_host() -> None:
    assert "resolved" not in (WEB / "package-lock.json").read_text(encoding="utf-8")

"""`make release-check`: build what is published, install each file into an empty environment, and use it there.

The environments and the folders in which commands run lie outside the tree, so that nothing of the checkout is used.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
from pathlib import Path

import package_files
import package_use
import versions

ROOT = Path(__file__).parents[1]
TOOLS = ("build", "twine")


def main() -> None:
    """Check a release, and say in one line what is wrong with it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="where wheel and sdist go")
    parser.add_argument("--tag", default="", help="the tag of a release: must be v and the version, and be dated")
    parser.add_argument("--skip-tests", action="store_true", help="do not run the tests of the unpacked sdist")
    chosen = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="regard-release-") as folder:
            check(Path(folder), chosen.dist.resolve(), tag=chosen.tag, tests=not chosen.skip_tests)
    except (package_files.ReleaseError, subprocess.CalledProcessError) as error:
        sys.exit(f"release-check: {error}")


def check(work: Path, dist: Path, *, tag: str = "", tests: bool = True) -> None:
    """Build into `dist`, and check versions, contents, and both files in use."""
    version = versions.check_versions(ROOT, tag=tag)
    note(f"version {version}: pyproject.toml, CHANGELOG.md, CITATION.cff and regard.__version__ agree")
    wheel, sdist = build(work, dist)
    for archive in (wheel, sdist):
        names = package_files.list_files(archive)
        package_files.check_files(archive, names, ROOT)
        note(package_files.describe(archive, names))
    for archive in (wheel, sdist):
        python = environment(work / f"env-{archive.suffix[1:]}", str(archive))
        note(f"{archive.name}: installed into an empty environment")
        for line in package_use.use(python, work / f"use-{archive.suffix[1:]}", version):
            note(f"  {line}")
    if tests:
        note("the tests of the unpacked sdist: make test-quick")
        test_unpacked(sdist, work / "unpacked")
    note(f"ready: {wheel.name} and {sdist.name} in {dist}")


def build(work: Path, dist: Path) -> tuple[Path, Path]:
    """Build an sdist, and a wheel from it, as those who install it would; check both for an index."""
    tools = environment(work / "tools", *TOOLS)
    shutil.rmtree(dist, ignore_errors=True)
    run([tools, "-m", "build", "--outdir", dist, ROOT], cwd=work)
    archives = [*dist.glob("*.whl"), *dist.glob("*.tar.gz")]
    if len(archives) != 2:
        raise package_files.ReleaseError(f"{dist} must hold a wheel and an sdist; found {[p.name for p in archives]}.")
    run([tools, "-m", "twine", "check", "--strict", *archives], cwd=work)
    return archives[0], archives[1]


def environment(folder: Path, *requirements: str) -> Path:
    """Make an environment with what is required, in the versions of constraints.txt; give its interpreter."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements], cwd=folder)
    return python


def test_unpacked(sdist: Path, folder: Path) -> None:
    """Unpack an sdist and run its quick tests, in an environment that it makes itself."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    [tree] = folder.iterdir()
    run(["make", "test-quick", f"PYTHON={sys.executable}"], cwd=tree)


def run(command: list[str | Path], *, cwd: Path) -> None:
    """Run a command of the release; where it fails, so does the check, and its output is shown."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=package_use.clean_environment() | {"PIP_CONSTRAINT": str(ROOT / "constraints.txt")},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.stderr.write(done.stdout[-20_000:] + done.stderr[-20_000:])
        done.check_returncode()


def note(line: str) -> None:
    """Print what was checked."""
    print(line, flush=True)


if __name__ == "__main__":
    main()

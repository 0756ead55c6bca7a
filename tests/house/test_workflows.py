"""The workflows, forms and the container of the repository: valid by their schemas, and true of this tree."""

import json
import re
import subprocess
import sys
import tomllib

import pytest
import yaml

from house.source import ROOT

GITHUB = ROOT / ".github"
WORKFLOWS = {path.stem: path for path in sorted((GITHUB / "workflows").glob("*.yml"))}
FORMS = [path for path in sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) if path.name != "config.yml"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
SCHEMAS = {
    "vendor.github-workflows": [*WORKFLOWS.values()],
    "vendor.github-issue-forms": FORMS,
    "vendor.github-issue-config": [GITHUB / "ISSUE_TEMPLATE/config.yml"],
    "vendor.dependabot": [GITHUB / "dependabot.yml"],
    "vendor.citation-file-format": [ROOT / "CITATION.cff"],
}


def is_valid(schema, *paths):
    """Say whether files are valid by a schema that comes with check-jsonschema; nothing is downloaded."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.returncode == 0


def steps(workflow):
    """Give the steps of all jobs of a workflow."""
    jobs = yaml.safe_load(WORKFLOWS[workflow].read_text(encoding="utf-8"))["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_are_valid_by_their_schema(schema):
    assert SCHEMAS[schema]
    assert is_valid(schema, *SCHEMAS[schema])


@pytest.mark.parametrize(
    ("schema", "path", "broken"),
    [
        ("vendor.github-workflows", WORKFLOWS["ci"], ("runs-on:", "run-on:")),
        ("vendor.github-workflows", WORKFLOWS["release"], ("id-token: write", "id-token: yes please")),
        ("vendor.github-workflows", WORKFLOWS["docs"], ("jobs:\n", "jobs: [\n")),
        ("vendor.github-issue-forms", FORMS[0], ("type: textarea", "type: area")),
        ("vendor.dependabot", GITHUB / "dependabot.yml", ("interval: monthly", "interval: never")),
    ],
)
def test_a_broken_file_is_not_valid(tmp_path, schema, path, broken):
    text = path.read_text(encoding="utf-8")
    assert broken[0] in text
    (tmp_path / path.name).write_text(text.replace(*broken), encoding="utf-8")
    assert not is_valid(schema, tmp_path / path.name)


def test_the_matrix_is_what_the_package_promises():
    jobs = yaml.safe_load(WORKFLOWS["ci"].read_text(encoding="utf-8"))["jobs"]
    matrix = jobs["systems"]["strategy"]["matrix"]
    classified = [re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", item) for item in PROJECT["classifiers"]]
    assert matrix["python"] == [item[1] for item in classified if item]
    assert f">={matrix['python'][0]}" == PROJECT["requires-python"]
    systems = {"ubuntu-latest": "POSIX :: Linux", "macos-latest": "MacOS", "windows-latest": "Microsoft :: Windows"}
    assert {f"Operating System :: {systems[name]}" for name in matrix["os"]} <= {*PROJECT["classifiers"]}
    [floor] = [item.removeprefix("torch>=") for item in PROJECT["dependencies"] if item.startswith("torch>=")]
    asked = [row["requirement"] for row in jobs["torch"]["strategy"]["matrix"]["include"]]
    assert asked == [f"torch=={floor}.*", "torch"]
    assert re.search("^torch<", (ROOT / "constraints.txt").read_text(), re.MULTILINE)  # what the job leaves out


def test_verbs_and_files_that_are_run_are_there():
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))
    commands = [step.get("run", "") for name in WORKFLOWS for step in steps(name)]
    commands.append(container["postCreateCommand"])
    verbs = {verb for command in commands for verb in re.findall(r"\bmake ([\w-]+)", command)}
    assert {"install", "release-check"} <= verbs
    assert [verb for verb in verbs if not re.search(rf"^{verb}:", MAKEFILE, re.MULTILINE)] == []
    files = {
        name
        for command in commands
        for name in re.findall(r"(?:\.ci/|release/|mkdocs|constraints)[\w/-]*\.?\w+", command)
    }
    assert {".ci/run", "mkdocs-versions.yml", "constraints.txt"} <= files
    assert [name for name in files if not (ROOT / name).exists()] == []
    ports = re.findall(r"_?PORT = (\d+)", "".join(p.read_text() for p in (ROOT / "src/regard/cli").glob("*.py")))
    assert {str(port) for port in container["forwardPorts"]} >= {*ports}


def test_a_release_is_what_was_checked_and_has_no_secret():
    text = WORKFLOWS["release"].read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    assert (jobs["publish"]["needs"], jobs["announce"]["needs"]) == ("build", "publish")
    assert jobs["publish"]["permissions"] == {"id-token": "write"}
    assert [name for name, job in jobs.items() if "id-token" in job.get("permissions", {})] == ["publish"]
    names = [step["with"]["name"] for step in steps("release") if "artifact" in step.get("uses", "")]
    assert names == ["dist"] * 3
    assert all("secrets." not in path.read_text(encoding="utf-8") for path in WORKFLOWS.values())


def test_no_expression_is_pasted_into_a_command():
    """A name of a branch or a tag is data: it reaches a shell by its environment alone."""
    assert [step["run"] for name in WORKFLOWS for step in steps(name) if "${{" in step.get("run", "")] == []


def test_actions_have_versions():
    used = {step["uses"] for name in WORKFLOWS for step in steps(name) if "uses" in step}
    assert len(used) >= 5
    assert [name for name in used if not re.fullmatch(r"[\w-]+/[\w-]+@(release/)?v\d+", name)] == []

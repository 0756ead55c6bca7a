"""A job that is killed, wherever, and given again ends with the same file; what is damaged is computed again."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from regard.errors import ArgumentError, DataError
from regard.scale.blocks import Block, check_input, plan_blocks, read_block
from regard.scale.job import InProcess, choose_engine, run_job
from regard.scale.ledger import Ledger
from regard.scale.work import Computing
from unit.scale.tiny import Upper, write_lines


class Stop(Exception):  # noqa: N818 (nobody did anything wrong)
    """A job is killed."""


class Stopping:
    """Computes in a random order, some blocks twice, and stops after some."""

    def __init__(self, after: int, seed: int = 0) -> None:
        self.after, self.random = after, random.Random(seed)
        self.computed: list[int] = []

    def run(self, work, blocks):
        order = [*blocks, *blocks[:2]]
        self.random.shuffle(order)
        computing = Computing(work)
        for block in order:
            if len(self.computed) == self.after:
                raise Stop
            self.computed.append(block.number)
            yield block, computing(block)


def expected(source: Path) -> bytes:
    lines = source.read_bytes().split(b"\n")
    return b"".join(b"%d %s\n" % (number, line.upper()) for number, line in enumerate(lines))


@pytest.fixture
def source(tmp_path):
    return write_lines(tmp_path / "a.txt", 1000)


@pytest.mark.parametrize("seed", range(8))
def test_a_job_that_is_stopped_again_and_again_ends_with_the_same_file(tmp_path, source, seed):
    work, output, draw = Upper(source=source), tmp_path / "out.txt", random.Random(seed)
    for _ in range(100):
        engine = Stopping(draw.randint(0, 9), seed)
        try:
            facts = run_job(work, output, engine, chunk_lines=50)
            break
        except Stop:
            assert not output.exists()
    assert output.read_bytes() == expected(source)
    assert [item["first"] for item in facts] == list(range(0, 1000, 50))
    assert not Ledger(output).folder.exists()


def test_finished_blocks_are_not_computed_again(tmp_path, source):
    output, first, second = tmp_path / "out.txt", Stopping(7), Stopping(99)
    with pytest.raises(Stop):
        run_job(Upper(source=source), output, first, chunk_lines=50)
    told = []
    run_job(Upper(source=source), output, second, chunk_lines=50, watch=lambda *item: told.append(item))
    assert not set(first.computed) & set(second.computed)
    assert told[0] == (50 * len(set(first.computed)), len(set(first.computed)), 20)
    assert told[-1] == (1000, 20, 20)


DAMAGE = {
    "cut": lambda data: data[:-3],
    "longer": lambda data: data + b"x\n",
    "a letter": lambda data: data[:-3] + bytes([data[-3] ^ 1]) + data[-2:],
    "empty": lambda data: b"",
    "no head": lambda data: data.partition(b"\n")[2],
    "another number": lambda data: data.replace(b'"number": ', b'"number": 1', 1),
    "other input": lambda data: data.replace(b'"input": "', b'"input": "0', 1),
    "a size beyond the file": lambda data: data.replace(b'"size": ', b'"size": 99', 1),
    "a head that never ends": lambda data: b"[" * (1 << 21),
    "deep": lambda data: b"[" * 5000 + b"\n",
    "facts of a list": lambda data: data.replace(b'"facts": {', b'"facts": [{', 1).replace(b"}}\n", b"}]}\n", 1),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_is_damaged_is_computed_again(tmp_path, source, damage):
    output = tmp_path / "out.txt"
    with pytest.raises(Stop):
        run_job(Upper(source=source), output, Stopping(12), chunk_lines=50)
    blocks = sorted(path for path in Ledger(output).folder.iterdir() if path.name[0] == "0")
    blocks[3].write_bytes(damage(blocks[3].read_bytes()))
    run_job(Upper(source=source), output, InProcess(), chunk_lines=50)
    assert output.read_bytes() == expected(source)


def test_a_link_in_the_ledger_is_replaced_and_not_followed(tmp_path, source):
    output, secret = tmp_path / "out.txt", tmp_path / "secret"
    secret.write_text("secret")
    ledger = Ledger(output)
    ledger.folder.mkdir()
    for name in ("00000-000", ".00000-000.writing", "job.json.writing", ".job.writing.json"):
        (ledger.folder / name).symlink_to(secret)
    run_job(Upper(source=source), output, InProcess(), chunk_lines=50)
    assert secret.read_text() == "secret"
    assert output.read_bytes() == expected(source)


def stopped(tmp_path, source):
    output = tmp_path / "out.txt"
    with pytest.raises(Stop):
        run_job(Upper(source=source), output, Stopping(5), chunk_lines=50)
    return output


def test_another_input_or_another_setting_is_refused_until_overwrite(tmp_path, source):
    output = stopped(tmp_path, source)
    with pytest.raises(ArgumentError, match=r"`output` must be new, or that of the same command.*work was upper, now"):
        run_job(Upper(source=source, name="other"), output, InProcess(), chunk_lines=50)
    source.write_bytes(b"new\n" + source.read_bytes())
    with pytest.raises(ArgumentError, match=r"was begun with another: input was [0-9a-f]{16}, now [0-9a-f]{16}\."):
        run_job(Upper(source=source), output, InProcess(), chunk_lines=50)
    run_job(Upper(source=source), output, InProcess(), chunk_lines=50, overwrite=True)
    assert output.read_bytes() == expected(source)


@pytest.mark.parametrize("content", ["", "[]", '{"settings": {"a": 1}}', "[" * 9999, '{"settings": 3}'])
def test_a_damaged_job_file_is_refused(tmp_path, source, content):
    output = stopped(tmp_path, source)
    (Ledger(output).folder / "job.json").write_text(content)
    with pytest.raises(DataError, match=r"job\.json.*Begin anew with `overwrite=True`\."):
        run_job(Upper(source=source), output, InProcess(), chunk_lines=50)
    run_job(Upper(source=source), output, InProcess(), chunk_lines=50, overwrite=True)


def test_an_output_that_is_there_stays(tmp_path, source):
    output = tmp_path / "out.txt"
    output.write_text("mine")
    with pytest.raises(ArgumentError, match=r"must be a file that is not there yet; .*out.txt is. Name another, or"):
        run_job(Upper(source=source), output, InProcess())
    with pytest.raises(ArgumentError, match=r"`output` must be a file; received the folder"):
        run_job(Upper(source=source), tmp_path, InProcess())
    with pytest.raises(ArgumentError, match=r"must be in a folder that is there; received"):
        run_job(Upper(source=source), tmp_path / "no" / "out", InProcess())
    with pytest.raises(ArgumentError, match=r"must be another file than the input"):
        run_job(Upper(source=source), source, InProcess(), overwrite=True)
    assert output.read_text() == "mine"


def test_two_jobs_do_not_write_one_output(tmp_path, source):
    output = tmp_path / "out.txt"
    with (
        Ledger(output).opened({}),
        pytest.raises(ArgumentError, match=r"no other process writes; .* is being written\. Wait for it"),
    ):
        run_job(Upper(source=source), output, InProcess())


def test_an_output_of_too_few_lines_is_refused(tmp_path, source):
    block = next(plan_blocks([source], chunk_lines=50))
    with pytest.raises(DataError, match=r"Block 0 must have 50 lines of output, each with its end; received 1\."):
        Ledger(tmp_path / "out.txt").record(block, b"a\n", {})


def test_an_engine_that_forgets_a_block_is_noticed(tmp_path, source):
    class Forgetful(InProcess):
        def run(self, work, blocks):
            return super().run(work, blocks[:-1])

    with pytest.raises(ArgumentError, match=r"must compute every block; 1 are missing, such as 19\. The same command"):
        run_job(Upper(source=source), tmp_path / "out", Forgetful(), chunk_lines=50)


@pytest.mark.parametrize("chunks", [1, 3, 7])
@pytest.mark.parametrize("content", [b"", b"\n", b"a", b"a\n\nb", b"\r\n" * 9, b"x" * 3_000_000 + b"\ny\n"])
def test_blocks_hold_every_line_once_in_order(tmp_path, content, chunks):
    path = tmp_path / "a"
    path.write_bytes(content)
    blocks = list(plan_blocks([path], chunk_lines=2, chunks=chunks))
    lines = content.split(b"\n")
    lines = lines[:-1] if lines[-1] == b"" else lines
    received = [line for block in blocks for line in read_block([path], block)[0]]
    assert [line.content for line in received] == [line[: 1 << 20] for line in lines]
    assert [block.first for block in blocks] == [sum(item.lines for item in blocks[:n]) for n in range(len(blocks))]
    assert [Block.from_table(json.loads(json.dumps(block.to_table()))) for block in blocks] == blocks


def test_files_side_by_side_must_have_as_many_lines(tmp_path, source):
    for count, received in ((999, "fewer"), (1001, "more than 1,000")):
        other = tmp_path / "b.txt"
        other.write_bytes(b"x\n" * count)
        with pytest.raises(DataError, match=rf"b.txt must have a line for each line of .*a.txt; received {received}\."):
            list(plan_blocks([source, other], chunk_lines=50))


def test_lines_that_changed_since_they_were_planned_are_refused(tmp_path, source):
    block = list(plan_blocks([source], chunk_lines=50))[3]
    source.write_bytes(source.read_bytes().replace(b"a", b"e"))
    with pytest.raises(DataError, match=r"must stay as it was when the work began; its lines from 151 on have changed"):
        read_block([source], block)


def test_engines_have_names():
    assert choose_engine("torch") is None
    assert choose_engine("ray:10.0.0.1:6379").address == "10.0.0.1:6379"
    for name in ("rya", "torch:x", "ray:", ""):
        with pytest.raises(ArgumentError, match=rf"`engine` must be torch, ray or ray:ADDRESS.*; received {name}\."):
            choose_engine(name)


def test_pipes_and_packed_files_are_refused(tmp_path):
    with pytest.raises(ArgumentError, match=r"nothing must be a plain file for this engine; received none"):
        check_input(tmp_path / "nothing")
    (tmp_path / "a.gz").touch()
    with pytest.raises(ArgumentError, match=r"a\.gz must not be compressed for this engine; received \.gz\. Dec"):
        check_input(tmp_path / "a.gz")


PROGRAM = """
import sys
from pathlib import Path
from regard.scale.job import InProcess, run_job
from unit.scale.tiny import Upper
run_job(Upper(source=Path(sys.argv[1])), Path(sys.argv[2]), InProcess(), chunk_lines=20)
"""


@pytest.mark.slow
def test_a_process_that_is_killed_at_random_moments_ends_with_the_same_file(tmp_path):
    source, output = write_lines(tmp_path / "a.txt", 20_000), tmp_path / "out.txt"
    draw, kills = random.Random(4), 0
    paths = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    while not output.exists():
        process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(source), str(output)], env=environment)
        try:
            process.wait(timeout=draw.uniform(0, 12) if kills < 12 else 120)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
            time.sleep(0.01)
        else:
            assert process.returncode == 0
    assert kills
    assert output.read_bytes() == expected(source)

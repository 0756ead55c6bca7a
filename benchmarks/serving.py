"""A server under load, on loopback: what batching gains, and what happens at twice the rate that it can sustain.

    OMP_NUM_THREADS=1 python benchmarks/serving.py [--model FOLDER] [--seconds 60] [--out benchmarks/serving-cpu.md]

Server and clients are two processes on one machine. Without a model, a translator is trained on the built-in corpus.
All replies are compared with what `Translator.translate` gives offline. Part one: the same clients, each asking again
as soon as it is answered, of a server that computes one sentence at a time and of one that batches. Part two: requests
come at twice the rate of part one, whether or not others are answered, for a minute.
"""

import argparse
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import regard
from regard.data.builtin import corpus

CLIENTS = 64
SENTENCES = 400
PATH = "/v1/translate"
PATIENT = ("delay=600", "timeout=600")  # nothing is refused where only the rate is measured


@dataclass
class Outcome:
    """What became of some requests."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    """Of each that was answered with 200."""
    wrong: int = 0
    """Answers that differ from those offline."""
    broken: int = 0
    """Connections that ended without an answer."""
    stale: int = 0
    """Connections kept for later that the server had closed meanwhile; the request was sent again on a new one."""
    without_retry: int = 0
    """429 without Retry-After."""

    def quantile(self, share: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Connection:
    """One connection that stays open: a request and its reply at a time."""

    def __init__(self, port: int) -> None:
        self.port, self.streams = port, None

    async def ask(self, text: str) -> tuple[int, dict[str, str], bytes]:
        if self.streams is None or self.streams[0].at_eof():  # the server closes what was silent for some seconds
            self.streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self.streams
        body = json.dumps({"text": [text]}).encode()
        head = f"POST {PATH} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        try:
            writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
            status, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
            return int(status.split()[1]), headers, await reader.readexactly(int(headers["content-length"]))
        except (OSError, asyncio.IncompleteReadError):
            writer.close()
            self.streams = None
            raise


@asynccontextmanager
async def server(model: Path, *settings: str) -> AsyncIterator[tuple[int, int]]:
    """Start `regard serve`, wait until it is ready, and give its port and its process number."""
    command = [sys.executable, "-m", "regard", "serve", str(model), "--port", "0", "--device", "cpu"]
    command += [word for item in settings for word in ("--set", item)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        port = urlsplit(process.stdout.readline().strip()).port
        assert port is not None
        for _ in range(600):
            if (await probe(port, "/ready"))[0] == 200:
                break
            await asyncio.sleep(0.1)
        yield port, process.pid
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, process.returncode
    finally:
        process.kill()


async def probe(port: int, path: str) -> tuple[int, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n".encode())
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    return int(head.split()[1]), body.decode()


async def request(connection: Connection, number: int, expected: Sequence[tuple[str, str]], outcome: Outcome) -> None:
    text, answer = expected[number % len(expected)]
    begun, kept = time.monotonic(), connection.streams is not None
    try:
        status, headers, body = await connection.ask(text)
    except (OSError, asyncio.IncompleteReadError) as error:
        if kept and not getattr(error, "partial", b""):  # as every HTTP client must
            outcome.stale += 1
            await request(connection, number, expected, outcome)
        else:
            outcome.broken += 1
        return
    outcome.statuses[status] += 1
    if status == 200:
        outcome.seconds.append(time.monotonic() - begun)
        outcome.wrong += json.loads(body)["translations"][0]["text"] != answer
    outcome.without_retry += status == 429 and "retry-after" not in headers


async def ask_in_turn(port: int, expected: Sequence[tuple[str, str]], *, clients: int, seconds: float) -> float:
    """Let clients ask one request after the other, and give the requests a second; every answer must be right."""
    outcome, end = Outcome(), time.monotonic() + seconds

    async def client(first: int) -> None:
        connection, number = Connection(port), first
        while time.monotonic() < end:
            await request(connection, number, expected, outcome)
            number += clients

    begun = time.monotonic()
    await asyncio.gather(*(client(number) for number in range(clients)))
    assert outcome.wrong == outcome.broken == 0, outcome
    assert set(outcome.statuses) == {200}, outcome.statuses
    return outcome.statuses[200] / (time.monotonic() - begun)


async def ask_at_rate(
    port: int, process: int, expected: Sequence[tuple[str, str]], *, rate: float, seconds: float
) -> tuple[Outcome, list[float]]:
    """Send requests at a rate, whether or not others are answered; give what became of them, and the memory in MiB."""
    outcome, free, tasks, memory = Outcome(), list[Connection](), set(), [resident(process)]
    begun, number = time.monotonic(), 0

    async def one(count: int) -> None:
        connection = free.pop() if free else Connection(port)
        await request(connection, count, expected, outcome)
        free.append(connection)

    while (now := time.monotonic() - begun) < seconds:
        while number < rate * now:
            task = asyncio.create_task(one(number))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            number += 1
        if now >= len(memory):
            memory.append(resident(process))
        await asyncio.sleep(0.005)
    await asyncio.gather(*tasks)
    return outcome, memory


def resident(process: int) -> float:
    kibibytes = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    assert kibibytes is not None
    return int(kibibytes[1]) / 1024


def train(folder: Path) -> Path:
    settings = {"data.size": 4000, "train.threads": 1, "train.validate_every": 300}
    regard.train("translate", data="builtin:es-en", out=folder, preset="bahdanau", steps=600, settings=settings)
    return folder


async def measure(model: Path, seconds: float) -> list[str]:
    """Measure, and give the lines of a report."""
    texts = [pair.source for pair in corpus("builtin:es-en", split="test", size=SENTENCES)]
    translator = regard.load(model)
    expected = list(zip(texts, translator.translate(texts), strict=True))
    part = max(5.0, seconds / 3)
    async with server(model, "batch=1", "wait=0", *PATIENT) as (port, _):
        alone = await ask_in_turn(port, expected, clients=CLIENTS, seconds=part)
    async with server(model, *PATIENT) as (port, _):
        single = await ask_in_turn(port, expected, clients=1, seconds=part / 2)
        batched = await ask_in_turn(port, expected, clients=CLIENTS, seconds=part)
    async with server(model) as (port, process):
        await ask_in_turn(port, expected, clients=CLIENTS // 4, seconds=5)  # caches and threads are there
        outcome, memory = await ask_at_rate(port, process, expected, rate=2 * batched, seconds=seconds)
        alive = (await probe(port, "/health"))[0] == 200
        figures = (await probe(port, "/metrics"))[1]
    total, answered = sum(outcome.statuses.values()), outcome.statuses[200]
    sizes = [float(re.search(rf"regard_batch_items_{name}{{.*}} (\S+)", figures)[1]) for name in ("sum", "count")]
    third = len(memory) // 3
    return [
        f"{translator!r}, beam 5, {len(texts)} sentences of `builtin:es-en`, test, one a request.",
        "",
        "| clients | server | requests a second | ratio |",
        "| --- | --- | ---: | ---: |",
        f"| {CLIENTS} | one sentence at a time (`--set batch=1`) | {alone:.1f} | 1.0 |",
        f"| {CLIENTS} | batches of up to 32 | {batched:.1f} | {batched / alone:.1f} |",
        f"| 1 | batches of up to 32 | {single:.1f} | |",
        "",
        f"At twice that rate, {2 * batched:.0f} requests a second, for {seconds:.0f} s:",
        "",
        "| | |",
        "| --- | ---: |",
        f"| requests | {total:,} |",
        f"| answered (200) | {answered:,}, {answered / seconds:.1f} a second |",
        f"| refused (429) | {outcome.statuses[429]:,}, {outcome.without_retry} without Retry-After |",
        f"| refused (503), more than 1,000 connections open | {outcome.statuses[503]:,} |",
        f"| any other status | {total - answered - outcome.statuses[429] - outcome.statuses[503]} |",
        f"| requests without an answer | {outcome.broken} |",
        f"| silent connections that the server closed as a request came; sent again | {outcome.stale} |",
        f"| answers that differ from those offline | {outcome.wrong} |",
        "| latency of those answered, 50 / 95 / 99 % / most | "
        + " / ".join(f"{outcome.quantile(share):.2f}" for share in (0.5, 0.95, 0.99, 1))
        + " s |",
        f"| sentences of a batch, mean | {sizes[0] / sizes[1]:.1f} |",
        f"| memory, at the start / after a third / at the end | {memory[0]:.0f} / {memory[third]:.0f} / "
        f"{memory[-1]:.0f} MiB |",
        f"| alive afterwards | {'yes' if alive else 'NO'} |",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="a translator; else one is trained under runs/serving")
    parser.add_argument("--seconds", type=float, default=60.0, help="of the load at twice the rate")
    parser.add_argument("--out", type=Path, help="a file for the report")
    chosen = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    model = chosen.model or train(Path("runs/serving"))
    report = "\n".join([*HEAD, *asyncio.run(measure(model, chosen.seconds)), ""])
    print(report)
    if chosen.out is not None:
        chosen.out.write_text(report, encoding="utf-8")


HEAD = [
    "# A server under load, on a CPU",
    "",
    "`OMP_NUM_THREADS=1 python benchmarks/serving.py --out benchmarks/serving-cpu.md`, on two cores that many other",
    "programs use at the same time, one thread for the model. Server and clients are two processes, over loopback.",
    "Every answer is compared with what `Translator.translate` gives offline.",
    "",
]

if __name__ == "__main__":
    main()

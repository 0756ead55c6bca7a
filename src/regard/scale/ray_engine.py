"""Blocks over Ray Data: on the processors of this machine, or on a cluster whose address is known.

Each worker is an actor that loads the work once. Ray starts an actor that dies again, and gives its block to another;
the ledger, which this process alone writes, knows a block by its number, so that none is lost and none counts twice.

Whoever reaches a Ray cluster can run code on it. The one that is started here lets in only those who know a token,
drawn at random and kept in this process and those it starts; for a cluster of your own, see docs/scaling.md.
"""

import json
import logging
import os
import secrets
import socket
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from typing import Any, cast

from regard.errors import ArgumentError, DataError, MissingExtraError, NotFiniteError, RegardError
from regard.files import parse_json
from regard.scale.blocks import Block
from regard.scale.work import Computing, Done, Work

_STORE = 1 << 28
"""Bytes of shared memory for the blocks that are under way, on this machine."""
_ANSWER = 5.0
"""Seconds in which a cluster must answer."""


@dataclass(frozen=True, kw_only=True)
class RayEngine:
    """Computes blocks with Ray Data."""

    address: str = ""
    """Of a cluster, such as 10.0.0.1:6379; nothing starts Ray on this machine."""
    workers: int = 0
    """Workers; 0 is one for each GPU, or where there are none, for each processor."""

    def run(self, work: Work, blocks: Sequence[Block]) -> Iterator[tuple[Block, Done]]:
        """Give the output of each block as soon as it is there."""
        if not blocks:
            return
        with _connected(self.address) as ray, ExitStack() as stack:
            gpus = int(ray.cluster_resources().get("GPU", 0))
            workers = self.workers or gpus or max(1, int(ray.cluster_resources().get("CPU", 1)))
            results = _compute(work, blocks, workers=min(workers, len(blocks)), gpus=1 if gpus else 0)
            known = {block.number: block for block in blocks}
            for row in stack.enter_context(closing(results)):  # before Ray is shut down
                if row.get("number") not in known:
                    raise DataError(
                        f"A worker must answer with a block that it was sent; received {row.get('number')!r}."
                    )
                yield known[row["number"]], _read(row)


def _compute(work: Work, blocks: Sequence[Block], *, workers: int, gpus: int) -> Generator[dict[str, Any]]:
    import ray.data

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    # A fault in the work is an answer of its own; what else fails is a worker that is gone, and another takes over.
    context.max_errored_blocks = 0
    rows = [{"block": json.dumps(block.to_table())} for block in blocks]
    dataset = ray.data.from_items(rows, override_num_blocks=len(rows)).map(
        cast(Any, Worker),  # a class that Ray makes a function of; its types allow functions alone
        fn_constructor_args=(work,),
        compute=ray.data.ActorPoolStrategy(size=workers),
        num_cpus=1,
        num_gpus=gpus,
    )
    # Nothing is fetched ahead: the thread that does so would go on while Ray is shut down, and start it once more.
    for table in dataset.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0):
        yield from cast(Any, table).to_pylist()


class Worker:
    """What each of Ray's actors does."""

    def __init__(self, work: Work) -> None:
        import torch

        torch.set_num_threads(1)  # there is a worker for each processor
        self._work = work
        self._computing: Computing | None = None

    def __call__(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Compute a block; an error that more attempts would not mend is the answer."""
        block = Block.from_table(json.loads(row["block"]))
        content, facts, problem = b"", "{}", ""
        try:
            if self._computing is None:
                self._computing = Computing(self._work)
            done = self._computing(block)
            content, facts = done.content, json.dumps(done.facts)
        except RegardError as error:
            problem = f"{type(error).__name__}: {error}"
        return {"number": block.number, "content": content, "facts": facts, "problem": problem}


def _read(row: Mapping[str, Any]) -> Done:
    if row["problem"]:
        kind, _, message = row["problem"].partition(": ")
        raise NotFiniteError(message) if kind == "NotFiniteError" else DataError(message)
    facts = parse_json(row["facts"], f"The answer for block {row['number']}").table()
    return Done(bytes(row["content"]), facts)


@contextmanager
def _connected(address: str) -> Iterator[Any]:
    """Connect to a cluster, or start Ray here for as long as it is needed."""
    if address:
        _check_address(address)
    _protect(local=not address)
    ray = _import_ray()
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    options: dict[str, Any] = {} if address else {"include_dashboard": False, "object_store_memory": _STORE}
    try:
        ray.init(address=address or "local", log_to_driver=False, logging_level=logging.ERROR, **options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise _unreachable(address or "local", str(error).splitlines()[0]) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def _import_ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise MissingExtraError(
            f"`engine=\"ray\"` must have Ray; it is not installed ({error}). Run: pip install 'regard[ray]'"
        ) from error
    return ray


def _check_address(address: str) -> None:
    """Raise where nobody answers: Ray itself would wait for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ArgumentError(
            f"`engine` must name a cluster by host and port, such as ray:10.0.0.1:6379; received ray:{address}."
        )
    try:
        socket.create_connection((host, int(port)), timeout=_ANSWER).close()
    except OSError as error:
        raise _unreachable(address, error.strerror or str(error)) from error


def _unreachable(address: str, why: str) -> ArgumentError:
    return ArgumentError(
        f"`engine` must name a Ray cluster that answers; {address} does not ({why}). Start one with `ray start "
        "--head`, or leave the address out."
    )


def _protect(*, local: bool) -> None:
    """Set what Ray reads from the environment alone, when it is imported: a token, no reports of use, few lines of log,
    and no cluster that nobody asked for.

    It stays set, since Ray keeps the first token of a process. Whoever has imported Ray before has decided already.
    """
    if "ray" in sys.modules:
        return
    wanted = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal", "RAY_ENABLE_AUTO_CONNECT": "0"}
    if local:
        wanted |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    for name, value in wanted.items():
        os.environ.setdefault(name, value)

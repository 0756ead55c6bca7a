"""A job: the blocks of its files, those that are finished, the rest by an engine, and the output in order."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from regard.errors import ArgumentError, near_miss
from regard.scale.blocks import Block, check_input, plan_blocks
from regard.scale.ledger import Ledger
from regard.scale.work import Computing, Done, Work
from regard.tasks.translation.files import CHUNK_LINES

#: Told how many lines, and how many of all blocks, are done.
Watch: TypeAlias = Callable[[int, int, int], None]


@runtime_checkable
class Engine(Protocol):
    """What computes blocks: in whatever order, each at least once."""

    def run(self, work: Work, blocks: Sequence[Block]) -> Iterable[tuple[Block, Done]]:
        """Give the output of each block as soon as it is there."""


class InProcess:
    """Computes one block after another, here: what other engines are compared with."""

    def run(self, work: Work, blocks: Sequence[Block]) -> Iterator[tuple[Block, Done]]:
        """Give the output of each block as soon as it is there."""
        computing = Computing(work) if blocks else None
        for block in blocks:
            assert computing is not None
            yield block, computing(block)


def choose_engine(name: str, *, local: Sequence[str] = ("torch",)) -> Engine | None:
    """Give the engine of that name: None for those of this process, `local`; ray here, or ray:ADDRESS on a cluster."""
    kind, _, address = name.partition(":")
    engines = (*local, "ray")
    if kind not in engines or (address and kind != "ray") or name.endswith(":"):
        raise ArgumentError(
            f"`engine` must be {', '.join(engines)} or ray:ADDRESS, such as ray:10.0.0.1:6379; received {name}."
            f"{near_miss(kind, engines)}"
        )
    if kind in local:
        return None
    from regard.scale.ray_engine import RayEngine

    return RayEngine(address=address)


def run_job(
    work: Work,
    output: Path,
    engine: Engine,
    *,
    overwrite: bool = False,
    watch: Watch = lambda lines, blocks, total: None,
    chunk_lines: int = CHUNK_LINES,
) -> list[dict[str, Any]]:
    """Compute every block that is not recorded yet, and write the output; give the facts of every chunk, in order."""
    for path in work.inputs:
        check_input(path)
        if output.exists() and output.samefile(path):
            raise ArgumentError(f"`output` must be another file than the input; received {output} for both.")
    ledger = Ledger(output)
    blocks = list(plan_blocks(work.inputs, chunk_lines=chunk_lines))
    with ledger.opened({**work.settings(), **_describe(work.inputs, blocks)}, overwrite=overwrite):
        finished = set(ledger.finished(blocks))
        lines = sum(block.lines for block in blocks if block.number in finished)
        watch(lines, len(finished), len(blocks))
        left = [block for block in blocks if block.number not in finished]
        for block, done in engine.run(work, left):
            ledger.record(block, done.content, done.facts)
            if block.number not in finished:
                finished.add(block.number)
                lines += block.lines
            watch(lines, len(finished), len(blocks))
        if missing := [block.number for block in blocks if block.number not in finished]:
            raise ArgumentError(
                f"The engine must compute every block; {len(missing)} are missing, such as {missing[0]}. The same "
                "command goes on."
            )
        records = ledger.complete(blocks)
    return [facts for record in records for facts in record.facts.get("chunks", [])]


def _describe(paths: Sequence[Path], blocks: Sequence[Block]) -> dict[str, str]:
    """Name the content of the files, and how it is divided; the files themselves may be moved."""
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(f"{block.digest} {block.chunks}\n".encode())
    return {"files": str(len(paths)), "input": digest.hexdigest()[:16]}

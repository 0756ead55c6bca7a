"""How processes that torchrun has started, perhaps again, agree on a name that nobody used before.

After a worker was killed, torchrun starts all of them again with the same store, in which the addresses of those that
are gone still stand; whoever reads one of these connects to nobody. Under a new name there are none. The number of
restarts cannot be that name: with several nodes, each counts its own.
"""

import json
import time
import uuid
from datetime import timedelta
from typing import TYPE_CHECKING

from regard.errors import TrainingError

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

PAUSE = 0.02
"""Seconds between two readings of the store."""


def meet(store: "Store", rank: int, ranks: int, *, timeout: timedelta) -> str:
    """Give the name that the first process chose; all `ranks` of this start have it, and none of an earlier one."""
    own, deadline = uuid.uuid4().hex, time.monotonic() + timeout.total_seconds()
    store.set(f"start/{rank}", own)
    if rank == 0:
        store.set("leader", own)
    while True:
        name = own if rank == 0 else _read(store, "leader")
        if rank == 0:
            others = [_read(store, f"start/{number}") for number in range(1, ranks)]
            ready = [item for item in others if item and _read(store, f"ready/{own}/{item}")]
            if len(ready) == ranks - 1:
                store.set(f"members/{own}", json.dumps(ready))
                return own
        elif name:
            store.set(f"ready/{name}/{own}", "ready")
            if own in json.loads(_read(store, f"members/{name}") or "[]"):
                return name
        if time.monotonic() > deadline:
            raise TrainingError(
                f"All {ranks} processes must start within {timeout.total_seconds():g} seconds; process {rank} waits "
                "for others. Read the logs of those, and start torchrun again: it goes on from the last checkpoint."
            )
        time.sleep(PAUSE)


def _read(store: "Store", key: str) -> str:
    """Give what is under a key, without waiting for it; nothing where it is not there."""
    return store.get(key).decode() if store.check([key]) else ""

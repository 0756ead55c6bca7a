"""One thread for each model: it computes what waits, in batches of requests that ask alike.

The oldest request says what is computed next. Others that ask alike join it, up to `batch` items; where the model is
free, it waits for them for `wait` seconds at most. A request of many items takes no more than its share of a batch, and
goes behind the others for the rest, so that short requests need not wait for long ones. A request that is given up
leaves the queue; where a batch has no other, it ends where the model calls a layer next.
"""

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from starlette.exceptions import HTTPException

from regard.serving.job import Call, Job, Part, Stream
from regard.serving.limits import Limits
from regard.serving.logs import LOGGER
from regard.serving.metrics import Metrics
from regard.studio.turns import VisitorGone, given_up

PIECES = 4
"""Pieces of a text that are generated before the next request has its turn."""
LONGEST_RETRY = 60
"""Seconds after which a client is asked to come again, at most."""
_MEMORY = 0.8
"""How much of the time per item is taken from what was measured before."""


class Worker:
    """The queue before one model, and the thread that empties it."""

    def __init__(self, name: str, model: Any, *, limits: Limits, metrics: Metrics) -> None:
        self.name, self.limits = name, limits
        self._model, self._metrics = model, metrics
        self._changed = threading.Condition()
        self._queue = deque[Job | Stream]()
        self._running: Sequence[Job | Stream] = ()
        self._nobody = threading.Event()
        self._streams = set[Stream]()
        self._closing = False
        self._seconds = 0.02  # per item
        self._thread = threading.Thread(target=self._loop, name=f"serving {name}", daemon=True)
        metrics.watch(name, self.waiting, self.streaming)

    def start(self) -> None:
        """Begin to compute."""
        self._thread.start()

    def waiting(self) -> int:
        """Count the items that wait."""
        return sum(job.left for job in list(self._queue) if isinstance(job, Job))

    def streaming(self) -> int:
        """Count the texts that are being generated."""
        return len(self._streams)

    def is_open(self) -> bool:
        """Tell whether one more item would be taken."""
        return self._thread.is_alive() and not self._closing and self.waiting() < self.limits.queue

    def submit(self, call: Call, items: Sequence[Any]) -> Job:
        """Let items wait for the model; refuse them where too many do."""
        job = Job(call, items)
        with self._changed:
            waiting = self.waiting()
            self._check(waiting > 0 and waiting + len(items) > self.limits.queue, "queue", self.limits.queue)
            self._queue.append(job)
            self._changed.notify()
        return job

    def stream(self, begin: Callable[[Any], Iterator[str]]) -> Stream:
        """Generate a text; refuse it where too many are being generated."""
        stream = Stream(lambda: begin(self._model), resume=self._requeue)
        with self._changed:
            self._check(len(self._streams) >= self.limits.streams, "streams", self.limits.streams)
            self._streams.add(stream)
            self._queue.append(stream)
            self._changed.notify()
        return stream

    def give_up(self, job: Job | Stream, reason: str = "") -> None:
        """Free the work of a request, where it is not done; `reason` is counted."""
        with self._changed:
            ended = job.given_up or (job.ended if isinstance(job, Stream) else job.future.done())
            job.given_up = True
            if job in self._queue:
                self._queue.remove(job)
            if isinstance(job, Stream):
                self._streams.discard(job)
            if self._running and all(item.given_up for item in self._running):
                self._nobody.set()
            self._changed.notify()
        if reason and not ended:
            self._metrics.add_given_up(self.name, reason)

    def close(self) -> None:
        """Take no more, finish what was taken, and end the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join()

    def _check(self, full: bool, name: str, most: int) -> None:
        if self._closing:
            raise HTTPException(503, "The server is ending. Ask again in a moment.", {"retry-after": "1"})
        if full:
            self._metrics.add_refused(self.name)
            seconds = max(1, min(LONGEST_RETRY, math.ceil(self.waiting() * self._seconds)))
            raise HTTPException(
                429,
                f"At most {most:,} may wait for {self.name}, and so many do. The limit is `{name}`. Ask again in "
                f"{seconds} s.",
                {"retry-after": str(seconds)},
            )

    def _requeue(self, stream: Stream) -> None:
        with self._changed:
            if not stream.given_up:
                self._queue.append(stream)
                self._changed.notify()

    def _loop(self) -> None:
        while (chosen := self._next()) is not None:
            if isinstance(chosen, Stream):
                self._advance(chosen)
            else:
                self._compute(chosen)
            with self._changed:
                self._running = ()

    def _next(self) -> list[Part] | Stream | None:
        """Wait for work, and give a batch or a text to go on with; None where the thread must end."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._queue or self._closing)
                if not self._queue:
                    return None
                first = self._queue[0]
                if isinstance(first, Job) and first.call.batches and self._gather(first):
                    continue  # it was given up meanwhile
                self._nobody.clear()
                if isinstance(first, Stream):
                    self._queue.popleft()
                    self._running = (first,)
                    return first
                parts = self._take(first)
                self._running = [part.job for part in parts]
                return parts

    def _gather(self, first: Job) -> bool:
        """Wait for others that ask alike; tell whether the first has gone meanwhile."""
        until = first.added + self.limits.wait
        while not self._closing and sum(job.left for job in self._alike(first)) < self.limits.batch:
            left = until - time.monotonic()
            if left <= 0:
                break
            self._changed.wait(left)
            if not self._queue or self._queue[0] is not first:
                return True
        return False

    def _alike(self, first: Job) -> Iterator[Job]:
        return (job for job in self._queue if isinstance(job, Job) and job.call == first.call)

    def _take(self, first: Job) -> list[Part]:
        """Take a batch out of the queue: an equal share of each request, what is left over for the oldest."""
        most = self.limits.batch
        jobs = list(islice(self._alike(first), most)) if first.call.batches else [first]
        if not first.call.batches:
            most = first.left
        share = max(1, most // len(jobs))
        counts = [min(share, job.left) for job in jobs]
        for number, job in enumerate(jobs):
            counts[number] += min(most - sum(counts), job.left - counts[number])
        parts = [job.take(count) for job, count in zip(jobs, counts, strict=True)]
        chosen = set(map(id, jobs))
        rest = [job for job in self._queue if id(job) not in chosen]
        self._queue = deque([*rest, *(job for job in jobs if job.left)])
        return parts

    def _advance(self, stream: Stream) -> None:
        self._metrics.add_pieces(self.name, stream.advance(PIECES))
        with self._changed:
            if stream.ended:
                self._streams.discard(stream)
            elif not stream.given_up and not stream.park():
                self._queue.append(stream)

    def _compute(self, parts: Sequence[Part]) -> None:
        """Compute a batch. Where it fails, each request is computed alone, so that one cannot spoil the others."""
        items = [item for part in parts for item in part.items]
        begun = time.monotonic()
        try:
            with given_up(getattr(self._model, "model", None), self._nobody):
                results = parts[0].job.call(self._model, items)
        except VisitorGone:
            return
        except Exception as error:
            if len(parts) > 1:
                for part in parts:
                    self._compute_alone(part)
            else:
                self._fail(parts[0].job, error)
            return
        self._measure(len(items), time.monotonic() - begun)
        index = 0
        for part in parts:
            part.job.finish(results[index : index + len(part.items)])
            index += len(part.items)

    def _compute_alone(self, part: Part) -> None:
        with self._changed:
            self._running = (part.job,)
            self._nobody.clear()
            gone = part.job.given_up
        if not gone:
            self._compute([part])

    def _fail(self, job: Job, error: Exception) -> None:
        with self._changed:
            if job in self._queue:
                self._queue.remove(job)
        logging.getLogger(LOGGER).info("a request failed", extra={"model": self.name, "kind": type(error).__name__})
        job.fail(error)

    def _measure(self, items: int, seconds: float) -> None:
        self._metrics.add_batch(self.name, items, seconds)
        self._seconds = _MEMORY * self._seconds + (1 - _MEMORY) * seconds / items

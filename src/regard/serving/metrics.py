"""What Prometheus reads: counts, times and queues, by endpoint and by model, never by what was asked."""

from collections.abc import Callable

from regard.errors import MissingExtraError

try:
    from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
    from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
except ImportError as error:  # pragma: no cover
    raise MissingExtraError(
        "`regard serve` must have the package prometheus_client; it is not installed. pip install 'regard[serve]'."
    ) from error

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
ITEMS = (1, 2, 4, 8, 16, 32, 64, 128)
MEDIA_TYPE = CONTENT_TYPE_PLAIN_0_0_4


class Metrics:
    """The figures of one server, in a registry of its own."""

    def __init__(self) -> None:
        self._registry = own = CollectorRegistry()
        ProcessCollector(registry=own)
        self._requests = Counter("regard_requests", "Requests answered.", ["endpoint", "status"], registry=own)
        self._seconds = Histogram(
            "regard_request_seconds", "Seconds until the last byte.", ["endpoint"], buckets=SECONDS, registry=own
        )
        self._refused = Counter("regard_refused", "Requests that found the queue full.", ["model"], registry=own)
        self._cancelled = Counter("regard_cancelled", "Requests cancelled.", ["model", "reason"], registry=own)
        self._items = Counter("regard_items", "Sentences computed.", ["model"], registry=own)
        self._pieces = Counter("regard_pieces", "Pieces of text generated.", ["model"], registry=own)
        self._batch = Histogram("regard_batch_items", "Sentences of a batch.", ["model"], buckets=ITEMS, registry=own)
        self._busy = Histogram("regard_batch_seconds", "Seconds of a batch.", ["model"], buckets=SECONDS, registry=own)
        self._queue = Gauge("regard_queue_items", "Sentences that wait for a model.", ["model"], registry=own)
        self._streams = Gauge("regard_streams", "Texts being generated.", ["model"], registry=own)

    def watch(self, model: str, waiting: Callable[[], int], streams: Callable[[], int]) -> None:
        """Show how much waits for a model."""
        self._queue.labels(model).set_function(waiting)
        self._streams.labels(model).set_function(streams)

    def add_request(self, endpoint: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._requests.labels(endpoint, str(status)).inc()
        self._seconds.labels(endpoint).observe(seconds)

    def add_batch(self, model: str, items: int, seconds: float) -> None:
        """Count a batch."""
        self._items.labels(model).inc(items)
        self._batch.labels(model).observe(items)
        self._busy.labels(model).observe(seconds)

    def add_pieces(self, model: str, count: int) -> None:
        """Count pieces of generated text."""
        self._pieces.labels(model).inc(count)

    def add_refused(self, model: str) -> None:
        """Count a request that found the queue full."""
        self._refused.labels(model).inc()

    def add_cancelled(self, model: str, reason: str) -> None:
        """Count a request that nobody waits for any more: disconnected or timeout."""
        self._cancelled.labels(model, reason).inc()

    def text(self) -> bytes:
        """Give all figures as Prometheus reads them."""
        return generate_latest(self._registry)

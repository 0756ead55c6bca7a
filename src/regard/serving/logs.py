"""Logs for machines: a JSON object a line, about requests, never with what they say."""

import json
import logging
import time
import traceback
from typing import Any

LOGGER = "regard.serving"
_KNOWN = frozenset(vars(logging.makeLogRecord({})))


class JsonLines(logging.Formatter):
    """Write a record as JSON. Of an exception: its type and where it was raised, since its words may quote a user."""

    def format(self, record: logging.LogRecord) -> str:
        """Give the line of a record."""
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in _KNOWN and name != "color_message"}
        if record.exc_info and record.exc_info[1] is not None:
            line |= where(record.exc_info[1])
        return json.dumps(line, ensure_ascii=True, default=str)


def where(error: BaseException) -> dict[str, Any]:
    """Say what kind of exception it is and where it was raised, without its message."""
    frames = traceback.extract_tb(error.__traceback__)
    return {
        "error": type(error).__name__,
        "frames": [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-12:]],
    }


def log_to_stderr() -> None:
    """Send every log of the process to standard error, as JSON."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger(LOGGER).setLevel(logging.INFO)

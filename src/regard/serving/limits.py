"""What a request may ask for, and how much may wait: a request over a limit is refused, with the limit's name."""

import math
from dataclasses import dataclass, fields

from starlette.exceptions import HTTPException

from regard.errors import ArgumentError


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of a server; `regard serve --set characters=5000` sets one."""

    characters: int = 20_000
    """Characters of all texts of a request."""
    sentences: int = 128
    """Texts, pairs or questions of a request."""
    beam: int = 12
    """Hypotheses of a sentence."""
    n_best: int = 12
    """Outputs of a sentence."""
    tokens: int = 1_000
    """Tokens that are generated for a text."""
    terms: int = 100
    """Terms of a request."""
    attention_tokens: int = 256
    """Tokens of a text whose attention is sent, and of its target."""
    body: int = 4 * 2**20
    """Bytes of a request."""
    batch: int = 32
    """Sentences computed at once."""
    wait: float = 0.005
    """Seconds that a sentence waits for others to be computed with, where the model is free."""
    queue: int = 256
    """Sentences that wait for one model; whoever comes then gets 429."""
    delay: float = 2.0
    """Seconds that these are expected to take; whoever comes then gets 429. A batch may wait in any case."""
    streams: int = 16
    """Texts that one model generates at the same time; whoever comes then gets 429."""
    timeout: float = 30.0
    """Seconds until a request is given up, with 504."""
    connections: int = 1_000
    """Open connections; whoever comes then gets 503."""

    def __post_init__(self) -> None:
        for item in fields(self):
            value, least = getattr(self, item.name), {"wait": 0, "delay": 0, "timeout": 0.1}.get(item.name, 1)
            if not (math.isfinite(value) and value >= least):
                raise ArgumentError(f"`{item.name}` must be at least {least}; received {value}.")
        if self.wait > self.timeout:
            raise ArgumentError(f"`wait` must be at most `timeout`, {self.timeout}; received {self.wait}.")

    def check(self, status: int, name: str, argument: str, received: int) -> None:
        """Refuse a number over the limit `name` with that status; `argument` is what the request calls it."""
        most = getattr(self, name)
        if received > most:
            unit = "" if argument == name else f" {name.replace('_', ' ')}"
            raise HTTPException(
                status, f"`{argument}` must be at most {most:,}{unit}; received {received:,}. The limit is `{name}`."
            )

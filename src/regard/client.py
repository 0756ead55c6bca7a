"""Ask a server of `regard serve` from Python: `regard.Client`. It needs the standard library alone."""

import base64
import http.client
import json
import math
import sys
import time
import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from regard.errors import ArgumentError, ServerError, brief

ADDRESS = "http://127.0.0.1:8766"
AGAIN = (429, 503)
"""Refusals after which it is worth asking again."""
LONGEST_WAIT = 60.0
"""Seconds that a server may ask to wait before the next try."""
MOST_WEIGHTS = 10**9
"""Numbers of a tensor that are unpacked."""


class Weights(NamedTuple):
    """The weights of one layer."""

    layer: str
    query: list[str]
    key: list[str]
    values: Any
    """A memoryview. Heads, queries, keys: `values[0, 1, 2]`, `values.tolist()`, `numpy.asarray(values)`."""


class Client:
    """A server of `regard serve`, as Python calls.

    - `address`: http:// or https://, host and port.
    - `key`: the API key, where the server asks for one.
    - `timeout`: seconds without a byte until a call is given up.
    - `retries`: how often a call is repeated after "too many wait"; the server says how long to wait before.

    A call that fails raises `regard.errors.ServerError`; `status` tells why, and is None where no answer came. Each
    call opens a connection of its own, so that a client may be used by several threads.

    >>> Client("127.0.0.1:8766")
    Traceback (most recent call last):
    regard.errors.ArgumentError: `address` must begin with http:// or https://; received 127.0.0.1:8766.
    """

    def __init__(self, address: str = ADDRESS, *, key: str = "", timeout: float = 60.0, retries: int = 3) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ArgumentError(f"`address` must begin with http:// or https://; received {brief(address)}.")
        self._parts, self._timeout, self._retries = parts, timeout, retries
        self._headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {key}"} if key else {})

    def __repr__(self) -> str:
        return f"Client({self._parts.scheme}://{self._parts.netloc})"

    def translate(self, texts: Sequence[str], *, model: str = "", beam: int = 5) -> list[str]:
        """Translate sentences, and give the best output of each."""
        return [item["text"] for item in self.search(texts, model=model, beam=beam)]

    def search(
        self,
        texts: Sequence[str],
        *,
        model: str = "",
        beam: int = 5,
        n_best: int = 1,
        alignment: bool = False,
        max_length: int | None = None,
        markup: str | None = None,
        terms: Mapping[str, str] | None = None,
    ) -> list[dict[str, Any]]:
        """Translate sentences, and give text, score and, where asked for, alignment and `n_best` outputs of each.

        With `markup` (html, xml, placeholders) `with_marks` is the text with the marks of its source. `terms` are
        translations that outputs must have where a sentence has what they translate.
        """
        if isinstance(texts, str):
            raise ArgumentError(f'`texts` must be a list of sentences; received one string. Write ["{texts[:20]}"].')
        body = {"model": model, "text": list(texts), "beam": beam, "n_best": n_best, "alignment": alignment}
        body |= {"max_length": max_length, "markup": markup, "terms": None if terms is None else dict(terms)}
        return list(self._ask("translate", body)["translations"])

    def align(
        self, pairs: Sequence[tuple[str, str]], *, model: str = "", words: str = "whitespace"
    ) -> list[dict[str, Any]]:
        """Link the words of sentences and their translations."""
        written = [{"source": source, "target": target} for source, target in pairs]
        return list(self._ask("align", {"model": model, "pairs": written, "words": words})["alignments"])

    def generate(
        self,
        text: str = "",
        *,
        model: str = "",
        max_tokens: int = 100,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
    ) -> Iterator[str]:
        """Go on with a text, and give its pieces as they come. Stop reading, and the server stops generating."""
        drawn = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
        connection, response = self._open("generate", {"model": model, "text": text, "max_tokens": max_tokens} | drawn)
        return self._pieces(connection, response)

    def classify(self, texts: Sequence[str], *, model: str = "") -> list[dict[str, Any]]:
        """Label texts: label, probabilities, words and their weights of each."""
        return list(self._ask("classify", {"model": model, "text": list(texts)})["decisions"])

    def classify_images(self, images: Sequence[str | Path | bytes], *, model: str = "") -> list[dict[str, Any]]:
        """Label pictures, each a path or the bytes of a file."""
        return list(self._ask("classify", {"model": model, "image": [_encode(item) for item in images]})["decisions"])

    def ask(self, image: str | Path | bytes, questions: Sequence[str], *, model: str = "") -> list[dict[str, Any]]:
        """Ask questions about a picture, a path or the bytes of a file."""
        body = {"model": model, "image": _encode(image), "questions": list(questions)}
        return list(self._ask("ask", body)["answers"])

    def attention(self, text: str, *, target: str | None = None, model: str = "") -> dict[str, Any]:
        """Give what a model attends to while it reads a text; `layers` are `Weights`."""
        result = self._ask("attention", {"model": model, "text": text, "target": target})
        layers = [
            Weights(item["layer"], item["query"], item["key"], _unpack(item["weights"])) for item in result["layers"]
        ]
        return result | {"layers": layers}

    def models(self) -> dict[str, Any]:
        """Give the models that are served, and the limits of a request."""
        return self._ask("models", None)

    def _ask(self, endpoint: str, body: dict[str, Any] | None) -> dict[str, Any]:
        connection, response = self._open(endpoint, body)
        try:
            result: dict[str, Any] = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._broken(error) from error
        finally:
            connection.close()
        return result

    def _open(self, endpoint: str, body: dict[str, Any] | None) -> tuple[Any, http.client.HTTPResponse]:
        """Send a request, again where too many wait, and give the connection and the reply that has begun."""
        for left in range(self._retries, -1, -1):
            connection, response = self._send(endpoint, body)
            if response.status == 200:
                return connection, response
            error = self._refusal(connection, response)
            if error.status not in AGAIN or not left:
                raise error
            time.sleep(error.retry_after)
        raise ArgumentError(f"`retries` must be 0 or more; received {self._retries}.")

    def _send(self, endpoint: str, body: dict[str, Any] | None) -> tuple[Any, http.client.HTTPResponse]:
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(self._parts.hostname or "", self._parts.port, timeout=self._timeout)
        path = f"{self._parts.path.rstrip('/')}/v1/{endpoint}"
        written = None if body is None else json.dumps(body).encode()
        try:
            connection.request("GET" if body is None else "POST", path, written, self._headers)
            return connection, connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._broken(error) from error

    def _refusal(self, connection: Any, response: http.client.HTTPResponse) -> ServerError:
        try:
            message = json.loads(response.read())["error"]
        except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
            message = response.reason
        connection.close()
        seconds = response.headers.get("retry-after", "")
        wait = min(float(seconds), LONGEST_WAIT) if seconds.isdecimal() else 1.0
        return ServerError(f"{self!r}: {message}", status=response.status, retry_after=wait)

    def _pieces(self, connection: Any, response: http.client.HTTPResponse) -> Iterator[str]:
        try:
            for raw in response:
                line = json.loads(raw)
                if line.get("done"):
                    return
                if "error" in line:
                    raise ServerError(f"{self!r}: {line['error']}", status=response.status)
                yield line["text"]
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._broken(error) from error
        finally:
            connection.close()
        raise self._broken(EOFError("the text ended before it was whole"))

    def _broken(self, error: Exception) -> ServerError:
        reason = " ".join(str(error).split()) or type(error).__name__
        return ServerError(f"{self!r} must answer; received: {brief(reason, letters=200)}. Is the server up?")


def _encode(image: str | Path | bytes) -> str:
    data = image if isinstance(image, bytes) else Path(image).read_bytes()
    return base64.b64encode(data).decode("ascii")


def _unpack(packed: Any) -> Any:
    """Read a tensor into a memoryview: exact numbers, or bytes that are shares of a scale."""
    try:
        shape = [int(item) for item in packed["shape"]]
        numbers = _numbers(packed, math.prod(shape))
        flat = memoryview(numbers)
        return flat.cast("B").cast("f", shape) if len(numbers) else flat
    except (LookupError, TypeError, ValueError, OverflowError, zlib.error) as error:
        reason = brief(" ".join(str(error).split()), letters=200)
        raise ServerError(f"The weights must be numbers of their shape; received something else: {reason}.") from error


def _numbers(packed: Any, count: int) -> "array[float]":
    numbers = array("f")
    if packed.get("float32") is not None:
        numbers.frombytes(base64.b64decode(packed["float32"]))
        if sys.byteorder == "big":
            numbers.byteswap()
    elif 0 < count <= MOST_WEIGHTS:
        levels = zlib.decompressobj().decompress(base64.b64decode(packed["bytes"]), count)
        numbers.extend(float(packed["scale"]) * level / 255 for level in levels)
    if len(numbers) != count:
        raise ValueError(f"{len(numbers):,} numbers where the shape has {brief(count)}")
    return numbers

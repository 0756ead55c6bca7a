"""The studio's server: one page, and a POST for each request of a view."""

from collections.abc import Callable, Iterable

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from regard.errors import RegardError
from regard.studio.guard import LOOPBACK, Guard
from regard.studio.models import Models
from regard.studio.schema.overview import Overview
from regard.studio.single_file import empty_page, read_static
from regard.studio.turns import VisitorGone
from regard.studio.views import (
    ask,
    classify,
    compare,
    keep,
    learn,
    mechanisms,
    passage,
    read,
    share,
    states,
    steps,
    translate,
    whatif,
    whatif_label,
)

ROUTERS: tuple[Callable[[Models], APIRouter], ...] = (
    translate.router,
    steps.router,
    whatif.router,
    whatif_label.router,
    mechanisms.router,
    compare.router,
    ask.router,
    classify.router,
    passage.router,
    keep.router,
    read.router,
    share.router,
    states.router,
    learn.router,
)
"""What each view adds: a function from the open models to its verbs."""
_TYPES = {"index.html": "text/html", "studio.js": "text/javascript", "studio.css": "text/css"}


def create_app(models: Models, *, hosts: Iterable[str] = LOOPBACK) -> FastAPI:
    """Make the server. It answers requests that name one of `hosts` and come from its own page."""
    app = FastAPI(title="regard studio", docs_url=None, redoc_url=None, openapi_url=None)
    app.add_exception_handler(RegardError, _refused)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _failed)
    app.add_exception_handler(VisitorGone, _unread)
    app.add_middleware(Guard, hosts=hosts)

    @app.get("/")
    def index() -> Response:
        return static("index.html")

    @app.get("/single-file.txt")
    def single_file() -> Response:
        return Response(empty_page(), media_type="text/plain")

    @app.get("/{name}")
    def page_file(name: str) -> Response:
        if name not in _TYPES:
            raise HTTPException(404, f"There is no /{name[:80]}.")
        return static(name)

    @app.post("/api/overview")
    def overview() -> Overview:
        return models.overview()

    for make in ROUTERS:
        app.include_router(make(models), prefix="/api")
    return app


def static(name: str) -> Response:
    """Answer with one of the built files."""
    return Response(read_static(name), media_type=_TYPES[name])


def _refused(request: Request, error: Exception) -> JSONResponse:
    """Hand on the library's message about bad input, as the command line does."""
    return JSONResponse({"error": _sendable(str(error))}, 422)


def _malformed(request: Request, error: Exception) -> JSONResponse:
    """Say what is wrong with a request: which part of it, and what it may be."""
    assert isinstance(error, RequestValidationError)
    wrong = error.errors()[0]
    limits, name = wrong.get("ctx", {}), _part(wrong["loc"][1:])
    for limit, sentence in _LIMITS.items():
        if limit in limits:
            return JSONResponse({"error": f"{name}: {sentence.format(_plain(limits[limit]))}."}, 422)
    return JSONResponse({"error": f"{name}: {_WRONG.get(wrong['type'], wrong['msg'])}."}, 422)


_LIMITS = {
    "max_length": "at most {:,}, of letters or entries",
    "min_length": "at least {:,}, of letters or entries",
    "le": "at most {:,}",
    "lt": "less than {:,}",
    "ge": "at least {:,}",
    "gt": "more than {:,}",
}
_WRONG = {"missing": "it is missing", "extra_forbidden": "there is no such setting"}


def _plain(limit: float) -> float:
    """Write a whole number as one."""
    return int(limit) if float(limit).is_integer() else limit


def _part(location: tuple[int | str, ...]) -> str:
    """Name a part of a request as the page does.

    >>> _part(("query", 0, 1)), _part(("tokens", 3)), _part(())
    ('q1, feature 2', 'tokens 4', 'the request')
    """
    match location:
        case ("query" | "key" | "value" as table, int(row), int(column)):
            return f"{table[0]}{row + 1}, feature {column + 1}"
        case _:
            return " ".join(str(item + 1 if isinstance(item, int) else item) for item in location) or "the request"


def _sendable(text: str) -> str:
    """Replace halves of surrogate pairs, which no encoding takes."""
    return text.encode("utf-8", "replace").decode()


def _failed(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return JSONResponse({"error": str(error.detail)}, error.status_code, error.headers)


def _unread(request: Request, error: Exception) -> Response:
    """Answer a visitor who has gone, as one must; nobody reads it."""
    return Response(status_code=499)

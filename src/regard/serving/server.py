"""The server: /v1 for programs, /health and /ready for whoever starts it, /metrics for whoever watches it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

from regard import __version__
from regard.errors import NotFiniteError, RegardError, brief
from regard.serving import metrics as figures
from regard.serving import schema
from regard.serving.guard import ServerGuard
from regard.serving.keys import Keys, RequireKey
from regard.serving.limits import Limits
from regard.serving.models import Models
from regard.serving.observe import Observe
from regard.serving.routes import router
from regard.studio.guard import LOOPBACK
from regard.studio.turns import VisitorGone

TITLE = "regard"
NO_JSON = "The body must be JSON, in UTF-8; received something else."
ABOUT = "Attention models: translate, align, generate, classify, ask, and what they attend to."


def create_app(
    models: Mapping[str, Any],
    *,
    limits: Limits | None = None,
    keys: Keys | None = None,
    any_host: bool = False,
) -> FastAPI:
    """Make a server of loaded models, by name. Without a key it answers requests that name loopback, or `any_host`."""
    limits, keys, counts = limits or Limits(), keys or Keys(), figures.Metrics()
    served = Models(models, limits=limits, metrics=counts)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        served.start()
        yield
        served.close()

    app = FastAPI(title=TITLE, description=ABOUT, version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan)
    app.include_router(router(served, limits))
    _add_probes(app, served, counts)
    for kind, handler in (
        (RegardError, _refused),
        (RequestValidationError, _malformed),
        (HTTPException, _failed),
        (VisitorGone, _unread),
    ):
        app.add_exception_handler(kind, handler)
    app.openapi = lambda: _describe(app, limits, keys)  # type: ignore[method-assign]
    paths = frozenset(app.openapi()["paths"])
    app.add_middleware(ServerGuard, max_body=limits.body, hosts=None if keys or any_host else LOOPBACK)
    app.add_middleware(RequireKey, keys=keys)
    app.add_middleware(Observe, metrics=counts, paths=paths)
    return app


def _add_probes(app: FastAPI, served: Models, counts: figures.Metrics) -> None:
    busy: dict[int | str, dict[str, Any]] = {503: {"model": schema.StateReply}}

    @app.get("/health", response_model=schema.StateReply)
    async def health() -> Response:
        """Tell that the process lives."""
        return JSONResponse({"state": "alive"})

    @app.get("/ready", response_model=schema.StateReply, responses=busy)
    async def ready() -> Response:
        """Tell whether a request would be taken."""
        is_ready = served.are_ready()
        return JSONResponse({"state": "ready" if is_ready else "busy"}, 200 if is_ready else 503)

    @app.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    def metrics() -> Response:
        """Give counts, times and queues to Prometheus."""
        return Response(counts.text(), media_type=figures.MEDIA_TYPE)


def _describe(app: FastAPI, limits: Limits, keys: Keys) -> dict[str, Any]:
    """Give the OpenAPI description, with the limits of this server."""
    if app.openapi_schema is None:
        made = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        if keys:
            made["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
            made["security"] = [{"key": []}]
        app.openapi_schema = schema.add_limits(made, limits)
    return app.openapi_schema


def _refused(request: Request, error: Exception) -> JSONResponse:
    """Give what the library reports of bad input; numbers of a model that are none are the server's own fault."""
    status = 500 if isinstance(error, NotFiniteError) else 422
    return JSONResponse({"error": _sendable(str(error))}, status)


def _malformed(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    wrong = error.errors()[0]
    if wrong["type"] == "json_invalid":
        return JSONResponse({"error": NO_JSON}, 400)
    index = ".".join(str(part) for part in wrong["loc"][1:]) or "the body"
    return JSONResponse({"error": _sendable(f"`{brief(index)}` is not as it must be: {wrong['msg']}.")}, 422)


def _failed(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    message = NO_JSON if error.status_code == 400 else str(error.detail)
    return JSONResponse({"error": _sendable(message)}, error.status_code, error.headers)


def _unread(request: Request, error: Exception) -> Response:
    """Answer a client that has gone, as one must; nobody reads it."""
    return Response(status_code=499)


def _sendable(text: str) -> str:
    """Replace halves of surrogate pairs, which no encoding takes."""
    return text.encode("utf-8", "replace").decode()

"""The application: paths, errors, OpenAPI, the page."""

from __future__ import annotations

import asyncio
import json
from copy import deepcopy
from functools import cache
from importlib.resources import files
from typing import Any, Final

from fastapi import APIRouter, FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

import fakebroker
from fakebroker.control.answers import Refusal
from fakebroker.control.clusters import Clusters
from fakebroker.control.errors import CODES, add_handlers
from fakebroker.control.guard import Guard
from fakebroker.control.here import Here
from fakebroker.control.metrics.exposition import CONTENT_TYPE, exposition
from fakebroker.control.routes import (
    access,
    clock,
    cluster,
    events,
    faults,
    journal,
    security,
    settings,
    state,
    timelines,
    topics,
)

_ABOUT = """What a test does to a fakebroker: topics, followers, brokers, its clock, its journal.

Everything below `/v1` is about the cluster of the process; the same is below `/v1/clusters/{cluster_id}` for one that
`POST /v1/clusters` made. A body is JSON; a member that is not known is refused. Every answer that is not 2xx is
`{"error": {"code", "message"}}`: `code` is Kafka's name of an error, or one of these: """

_POLICY = "; ".join(
    (
        "default-src 'none'",
        "connect-src 'self'",
        "img-src data:",
        "script-src 'unsafe-inline'",
        "style-src 'unsafe-inline'",
        "frame-ancestors 'none'",
    )
)

_ROUTES_OF_A_TURN: Final = 3  # a millisecond each, to make
_NOWHERE: Scope = {"type": "http", "method": "GET", "path": "/v1/none", "root_path": "", "headers": []}


def new_app(clusters: Clusters, token: str | None = None, host: str = "127.0.0.1") -> ASGIApp:
    """Return the guarded application for these clusters. `host` is where it listens."""
    return Guard(_MadeInTurns(new_api(clusters)), token, host)


class _MadeInTurns:
    """An application that makes its routes in turns, at its first request. FastAPI makes them when it first looks for
    one, and would look in all parts at once: 40 ms."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._parts = iter(app.routes)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        for part in self._parts:
            part.matches(_NOWHERE)
            await asyncio.sleep(0)
        await self._app(scope, receive, send)


def new_api(clusters: Clusters) -> FastAPI:
    """Return the application without its guard."""
    app = FastAPI(
        title="fakebroker",
        version=fakebroker.__version__,
        description=_ABOUT + "; ".join(f"`{code}` ({text})" for code, text in CODES.items()),
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        responses={"default": {"model": Refusal, "description": "what is wrong"}},
    )
    app.state.clusters = clusters
    add_handlers(app)
    for part in (cluster, topics, clock, faults, journal, timelines, events, state, settings, security, access):
        for start in range(0, len(part.router.routes), _ROUTES_OF_A_TURN):
            some = APIRouter()
            some.routes = part.router.routes[start : start + _ROUTES_OF_A_TURN]
            app.include_router(some, prefix="/v1")
    app.get("/v1/metrics", tags=["metrics"], response_class=Response, name="cluster_metrics")(_metrics)
    app.get("/metrics", tags=["metrics"], response_class=Response)(_metrics)
    app.get("/", include_in_schema=False)(_page)
    app.get("/openapi.json", include_in_schema=False)(_description)
    app.state.description = None
    _describe(app)
    return app


# FastAPI caches the functions that it calls, for the life of the process. So none of them refers to one application.


@cache
def _page_text() -> str:
    return files("fakebroker.control").joinpath("page.html").read_text("utf-8")


async def _page() -> HTMLResponse:
    return HTMLResponse(_page_text(), headers={"Content-Security-Policy": _POLICY})


async def _description(request: Request) -> Response:
    app = request.app
    if app.state.description is None:  # this takes long, once, so it runs in a thread
        described = asyncio.get_running_loop().run_in_executor(None, lambda: json.dumps(app.openapi()).encode())
        app.state.description = described
    return Response(await asyncio.shield(app.state.description), media_type="application/json")


async def _metrics(here: Here) -> Response:
    """Numbers for Prometheus, under Kafka's names there; counted from the first call on, or from the start with
    --control-port."""
    return Response(await exposition(here), media_type=CONTENT_TYPE)


def _describe(app: FastAPI) -> None:
    """Make the OpenAPI document, with the paths of other clusters beside those of the main one."""

    def openapi() -> dict[str, Any]:
        if not app.openapi_schema:
            document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
            document["paths"].update(_of_clusters(document["paths"]))
            _drop_defaults(document)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _of_clusters(paths: dict[str, Any]) -> dict[str, Any]:
    of_clusters: dict[str, Any] = {}
    parameter = {
        "name": "cluster_id",
        "in": "path",
        "required": True,
        "schema": {"type": "string"},
        "description": "`id` of POST /v1/clusters",
    }
    for path, methods in paths.items():
        if path.startswith("/v1/") and not path.startswith("/v1/clusters"):
            copied = deepcopy(methods)
            for method in copied.values():
                method["operationId"] += "_of_cluster"
                method["parameters"] = [parameter, *method.get("parameters", ())]
                method["tags"] = ["clusters"]
            of_clusters["/v1/clusters/{cluster_id}" + path.removeprefix("/v1")] = copied
    return of_clusters


def _drop_defaults(schema: dict[str, Any]) -> None:
    """Remove FastAPI's form of errors from the schema; ours is different."""
    for methods in schema["paths"].values():
        for method in methods.values():
            method["responses"].pop("422", None)
    for name in ("HTTPValidationError", "ValidationError"):
        schema["components"]["schemas"].pop(name, None)

"""toxiproxy's HTTP API, with its paths, bodies and errors: {"error": ..., "status": ...}.

Shape    GET|POST /proxies; GET|POST|PATCH|DELETE /proxies/{proxy}; GET|POST /proxies/{proxy}/toxics;
         GET|POST|PATCH|DELETE /proxies/{proxy}/toxics/{toxic}; POST /populate; POST /reset; GET /version.
Source   toxiproxy 2.x api.go, proxy_collection.go.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from fakebroker.control.json_body import read_json
from fakebroker.control.toxiproxy.proxies import Proxies
from fakebroker.control.toxiproxy.toxics import ApiError, Toxic, bad_request

VERSION = "2.12.0"  # the release that has this API


def new_api(proxies: Proxies) -> Starlette:
    """Return the application."""

    async def index(request: Request) -> Response:
        return JSONResponse({name: proxy.to_json() for name, proxy in proxies.all.items()})

    async def create(request: Request) -> Response:
        proxy = await proxies.create(await _body(request))
        return JSONResponse(proxy.to_json(), 201)

    async def populate(request: Request) -> Response:
        body = await _json(request)
        if not isinstance(body, list) or not all(isinstance(entry, Mapping) for entry in body):
            raise bad_request("a list of proxies")
        made = [await proxies.put(entry) for entry in body]
        return JSONResponse({"proxies": [proxy.to_json() for proxy in made]}, 201)

    async def show(request: Request) -> Response:
        return JSONResponse(proxies.find(request.path_params["proxy"]).to_json())

    async def update(request: Request) -> Response:
        proxy = proxies.find(request.path_params["proxy"])
        await proxies.update(proxy, await _body(request))
        return JSONResponse(proxy.to_json())

    async def delete(request: Request) -> Response:
        await proxies.delete(request.path_params["proxy"])
        return Response(status_code=204)

    async def toxics(request: Request) -> Response:
        proxy = proxies.find(request.path_params["proxy"])
        return JSONResponse([toxic.to_json() for toxic in proxy.toxics])

    async def add_toxic(request: Request) -> Response:
        proxy = proxies.find(request.path_params["proxy"])
        toxic = Toxic.read(await _body(request))
        proxy.add(toxic)
        return JSONResponse(toxic.to_json())

    async def show_toxic(request: Request) -> Response:
        proxy = proxies.find(request.path_params["proxy"])
        return JSONResponse(proxy.find(request.path_params["toxic"]).to_json())

    async def update_toxic(request: Request) -> Response:
        proxy = proxies.find(request.path_params["proxy"])
        toxic = proxy.find(request.path_params["toxic"])
        updated = toxic.updated(await _body(request))
        proxy.set([updated if existing is toxic else existing for existing in proxy.toxics])
        return JSONResponse(updated.to_json())

    async def remove_toxic(request: Request) -> Response:
        proxy = proxies.find(request.path_params["proxy"])
        toxic = proxy.find(request.path_params["toxic"])
        proxy.set([existing for existing in proxy.toxics if existing is not toxic])
        return Response(status_code=204)

    async def reset(request: Request) -> Response:
        await proxies.reset()
        return Response(status_code=204)

    async def version(request: Request) -> Response:
        return JSONResponse({"version": VERSION})

    one, its_toxics = "/proxies/{proxy}", "/proxies/{proxy}/toxics"
    return Starlette(
        routes=[
            Route("/proxies", index, methods=["GET"]),
            Route("/proxies", create, methods=["POST"]),
            Route("/populate", populate, methods=["POST"]),
            Route(one, show, methods=["GET"]),
            Route(one, update, methods=["POST", "PATCH"]),
            Route(one, delete, methods=["DELETE"]),
            Route(its_toxics, toxics, methods=["GET"]),
            Route(its_toxics, add_toxic, methods=["POST"]),
            Route(its_toxics + "/{toxic}", show_toxic, methods=["GET"]),
            Route(its_toxics + "/{toxic}", update_toxic, methods=["POST", "PATCH"]),
            Route(its_toxics + "/{toxic}", remove_toxic, methods=["DELETE"]),
            Route("/reset", reset, methods=["POST"]),
            Route("/version", version, methods=["GET"]),
        ],
        exception_handlers={ApiError: _refused, HTTPException: _http},
    )


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)
    return _error(error.status, error.message)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _error(error.status_code, str(error.detail))


def _error(status: int, message: str) -> Response:
    return Response(json.dumps({"error": message, "status": status}), status, media_type="application/json")


async def _json(request: Request) -> Any:
    try:
        return read_json(await request.body())
    except json.JSONDecodeError as error:
        raise bad_request(error.msg) from None


async def _body(request: Request) -> Mapping[str, Any]:
    body = await _json(request)
    if not isinstance(body, Mapping):
        raise bad_request("an object")
    return body

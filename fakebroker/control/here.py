"""The parameters of a path: the cluster of a request, the main one or that of /v1/clusters/ID/, and its body."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Annotated, Any, ParamSpec, TypeVar

from fastapi import Depends, Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from fakebroker.control.clusters import Clusters
from fakebroker.control.hosted import HostedCluster
from fakebroker.control.json_body import read_json
from fakebroker.protocol.slices import Slices

P = ParamSpec("P")
T = TypeVar("T")


def clusters_of(request: Request) -> Clusters:
    clusters: Clusters = request.app.state.clusters
    return clusters


async def _clusters(request: Request) -> Clusters:
    return clusters_of(request)


async def _here(request: Request) -> AsyncIterator[HostedCluster]:
    async with clusters_of(request).use(request.scope.get("cluster_id")) as hosted:
        assert hosted.told  # starts the journal and the metrics, at the latest now
        yield hosted
        hosted.changes.tell()


All = Annotated[Clusters, Depends(_clusters)]
Here = Annotated[HostedCluster, Depends(_here)]


async def change(here: HostedCluster, begin: Callable[P, Slices[T]], *args: P.args, **named: P.kwargs) -> T:
    """Make a change in slices, when its turn among the changes of the cluster has come. Return its result."""
    return await here.cluster.server.change(lambda _: here.work.do(begin(*args, **named)))


class Route(APIRoute):
    """A path with a body that `read_json` reads."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def read_and_handle(request: Request) -> Response:
            return await handle(_JsonRequest(request.scope, request.receive))

        return read_and_handle


class _JsonRequest(Request):
    async def json(self) -> Any:
        return read_json(await self.body())

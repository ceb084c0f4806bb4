"""The cluster that a request is about: the main one, or that of /v1/clusters/ID/."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, Request

from fakebroker.control.clusters import Clusters
from fakebroker.control.hosted import Hosted


def clusters_of(request: Request) -> Clusters:
    found: Clusters = request.app.state.clusters
    return found


async def _clusters(request: Request) -> Clusters:
    return clusters_of(request)


async def _here(request: Request) -> AsyncIterator[Hosted]:
    async with clusters_of(request).use(request.scope.get("cluster_id")) as hosted:
        assert hosted.told  # from now on, at the latest
        yield hosted
        hosted.changes.tell()


All = Annotated[Clusters, Depends(_clusters)]
Here = Annotated[Hosted, Depends(_here)]

"""A request in the simulation, with its decoded response."""

from __future__ import annotations

from typing import Any

from fakebroker.apis import registry
from support.messages import decode_response
from support.requests import request
from support.simulation import SimulatedClient


def ask(client: SimulatedClient, api_key: int, version: int, **values: Any) -> Any:
    """Return the kio message of the response; `values` as for the newest version."""
    before = len(client.answers)
    client.send(request(api_key, version, values, correlation_id=77))
    assert client.closed is None, client.closed
    ((_, frame),) = client.answers[before:]
    correlation_id, answer = decode_response(api_key, version, frame)
    assert correlation_id == 77
    return answer


def served_versions(api_key: int, at_least: int = 0) -> list[int]:
    """Return the versions of an API that are served."""
    api = registry.load()[api_key]
    return [version for version in range(api.min_version, api.max_version + 1) if version >= at_least]

"""A request with a handler that the test drives, slice by slice."""

from __future__ import annotations

from typing import Any

from fakebroker.apis import registry
from fakebroker.apis.context import RequestContext
from fakebroker.network.connection import Event
from fakebroker.network.effects import Send
from fakebroker.protocol.headers import decode_request_header, peek_api
from fakebroker.protocol.messages import is_flexible
from fakebroker.protocol.slices import Slices, finish
from support.messages import decode_response
from support.requests import request
from support.simulation import Simulation


def received(simulation: Simulation, frame: bytes) -> tuple[registry.Api, RequestContext, Any]:
    """Let the first broker read a request: a frame without its length. Return the API, and what its handler takes."""
    api_key, version = peek_api(frame)
    header = decode_request_header(frame, is_flexible(api_key, version))
    api = registry.load()[api_key]
    cluster = simulation.cluster
    connection = simulation.connect().connection
    connection.on(Event.REQUEST)
    context = RequestContext(
        cluster.brokers[1],
        cluster.sockets,
        connection,
        header,
        len(frame),
        api.throttled,
        simulation.now,
        cluster.probe,
    )
    return api, context, api.decode(version, frame, header.body_offset)


class Handling:
    """A request to the first broker. `slices` is the work of its handler."""

    def __init__(self, simulation: Simulation, api_key: int, version: int, values: dict[str, Any]) -> None:
        api, context, message = received(simulation, request(api_key, version, values)[4:])
        self._api = api_key, version
        self._cluster = simulation.cluster
        slices = api.handle(context, message)
        assert slices is not None, f"{api.name} is not handled in slices"
        self.slices: Slices[None] = slices

    def step(self, slices: int) -> None:
        for _ in range(slices):
            next(self.slices)

    def answer(self) -> Any:
        """Finish the handler and return the response."""
        finish(self.slices)
        [effect] = [effect for effect in self._cluster.take_effects() if isinstance(effect, Send)]
        data = effect.data if isinstance(effect.data, bytes) else b"".join(effect.data)
        return decode_response(*self._api, data[4:])[1]

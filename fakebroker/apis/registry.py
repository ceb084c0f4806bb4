"""The registry of the served APIs: one file per API key in the rooms of this package, discovered, never listed by hand.

ApiVersions uses this registry, so what is advertised and what is served cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, Final, final

import fakebroker.apis
from fakebroker.apis.authorization import Authorization
from fakebroker.apis.context import RequestContext, Throttled
from fakebroker.core.faults.table import Errors
from fakebroker.protocol.build import with_throttle_time
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.large_frame import LargeFrame
from fakebroker.protocol.messages import api_name, decode_request, decode_request_in_slices, versions
from fakebroker.protocol.slices import Slices

# Each handler has its own class of requests, hence Any. A handler of large requests returns slices.
Handler = Callable[[RequestContext, Any], Slices[None] | None]
ErrorResponse = Callable[[RequestContext, Any, ErrorCode], Slices[None] | None]
Decode = Callable[[int, bytes | LargeFrame, int], Any]
DecodeByHand = Callable[[int, bytes | LargeFrame, int], Any | None]
DecodeInSlices = Callable[[int, bytes | LargeFrame, int, int], Slices[Any]]

# Frames of this size or more are decoded in slices. Smaller ones have so few elements that they take 1 ms or two.
SLICED_FRAME_BYTES: Final = 4_096

NOT_APIS = {
    "authorization",
    "errors",
    "new",
    "stub_fields",
}  # tools for adding an API; other modules without an API may be here too


@final
class Api:
    """One API key: the served versions, and their functions.

    `advertised_min_version` is lower than `min_version` where Kafka advertises more than it serves.
    `is_advertised` is False where Kafka serves an API without advertising it.
    `errors` are those that faults may return (errors.py declares them).
    `authorization` are the permissions that a client needs (authorization.py declares them); the dispatcher checks
    those of the whole request before `handle`.
    `error_response` responds to a request after its handler failed, as Kafka's `getErrorResponse` does.
    `throttled` returns a response with a throttle time in milliseconds.
    `decode` reads a body, given its version, the frame, large or not, and where the body starts; raises ProtocolError.
    `decode_in_slices` is for frames of SLICED_FRAME_BYTES or more; its last argument is the maximum of elements in a
    request. Before it `decode_by_hand` is tried, if there is one: it returns None for what may take long.
    """

    __slots__ = (
        "advertised_min_version", "authorization", "decode", "decode_by_hand", "decode_in_slices", "error_response",
        "errors", "handle", "is_advertised", "key", "max_version", "min_version", "name", "throttled",
    )  # fmt: skip

    def __init__(
        self,
        key: int,
        name: str,
        min_version: int,
        max_version: int,
        advertised_min_version: int,
        handle: Handler,
        errors: Errors,
        authorization: Authorization,
        error_response: ErrorResponse,
        throttled: Throttled,
        decode: Decode,
        decode_in_slices: DecodeInSlices,
        decode_by_hand: DecodeByHand | None,
        is_advertised: bool = True,
    ) -> None:
        self.key = key
        self.name = name
        self.min_version = min_version
        self.max_version = max_version
        self.advertised_min_version = advertised_min_version
        self.handle = handle
        self.errors = errors
        self.authorization = authorization
        self.error_response = error_response
        self.throttled = throttled
        self.decode = decode
        self.decode_in_slices = decode_in_slices
        self.decode_by_hand = decode_by_hand
        self.is_advertised = is_advertised

    def serves(self, version: int) -> bool:
        return self.min_version <= version <= self.max_version


_apis: dict[int, Api] = {}


def api(
    key: int,
    min_version: int,
    max_version: int,
    *,
    errors: Errors,
    authorization: Authorization,
    error_response: ErrorResponse,
    advertised_min_version: int | None = None,
    is_advertised: bool = True,
    throttled: Throttled = with_throttle_time,
    decode: Decode | None = None,
    decode_in_slices: DecodeInSlices | None = None,
    decode_by_hand: DecodeByHand | None = None,
) -> Callable[[Handler], Handler]:
    """Register the decorated handler for an API key. kio must be able to read each key and version."""
    known = versions(key)
    if key in _apis:
        raise ValueError(f"API key {key} is registered twice")
    if min_version > max_version or min_version not in known or max_version not in known:
        raise ValueError(f"{api_name(key)} cannot be served as v{min_version}-v{max_version}: known are {known}")

    def register(handle: Handler) -> Handler:
        advertised = min_version if advertised_min_version is None else advertised_min_version
        _apis[key] = Api(
            key,
            api_name(key),
            min_version,
            max_version,
            advertised,
            handle,
            errors,
            authorization,
            error_response,
            throttled,
            decode or partial(_decode, key),
            decode_in_slices or partial(_decode_in_slices, key),
            decode_by_hand,
            is_advertised,
        )
        return handle

    return register


def _decode(key: int, version: int, frame: bytes | LargeFrame, offset: int) -> Any:
    return decode_request(key, version, frame if isinstance(frame, bytes) else frame.join(), offset)


def _decode_in_slices(key: int, version: int, frame: bytes | LargeFrame, offset: int, max_elements: int) -> Slices[Any]:
    whole = frame if isinstance(frame, bytes) else (yield from frame.join_in_slices())
    return (yield from decode_request_in_slices(key, version, whole, offset, max_elements))


def load() -> dict[int, Api]:
    """Return all APIs by key, in the order of the keys."""
    _import_all()
    return dict(sorted(_apis.items()))


@cache  # cached: it reads a folder, for every node and every response to ApiVersions
def _import_all() -> None:
    for name in _modules():
        import_module(name)


def _modules() -> Iterator[str]:
    prefix = f"{fakebroker.apis.__name__}."
    names = (module.name for module in walk_packages(fakebroker.apis.__path__, prefix) if not module.ispkg)
    return (name for name in names if name.removeprefix(prefix) not in NOT_APIS)

"""A replacement of an API's handler in the registry."""

from __future__ import annotations

from typing import Any

from fakebroker.apis.registry import Api

PARTS = (
    "key",
    "name",
    "min_version",
    "max_version",
    "advertised_min_version",
    "handle",
    "errors",
    "authorization",
    "error_response",
    "throttled",
    "decode",
    "decode_by_hand",
    "decode_in_slices",
    "is_advertised",
)


def with_parts(api: Api, **parts: Any) -> Api:
    return Api(**({name: getattr(api, name) for name in PARTS} | parts))

"""The guard: checks of access and size, before a request is routed.

Theory   Without a token only local callers are served. A name in Host that is not localhost belongs to another site
         that was rebound to this address. An Origin that is not ours is a page of another site. With a token each
         request needs it, except for the page itself, and its Host may be any.
         /v1/clusters/ID/REST is /v1/REST of that cluster.
Units    bytes.
Source   RFC 6750 (bearer tokens); kcl's `fake --control` has no such checks.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fakebroker.control.errors import error_answer

MAX_BODY_BYTES = 1_048_576
_LEFT_UNREAD = 64 * MAX_BODY_BYTES  # of a refused body: a client that sends all of it first can then read the response
_SHOWN = 80  # characters of a header in a message
_OF_CLUSTERS = "/v1/clusters/"
_OPEN = ("/", "/favicon.ico")


class Guard:
    """A middleware around the application. `host` is where it listens."""

    def __init__(self, app: ASGIApp, token: str | None, host: str) -> None:
        self._app = app
        self._token = None if token is None else token.encode()
        self._host = host.lower()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._refused(scope["path"], headers)
        if refused is None and _length(headers) > MAX_BODY_BYTES:
            refused = 413, "TOO_LARGE", f"a body has at most {MAX_BODY_BYTES} bytes"
        if refused is not None:
            await _throw_away(receive)
            await error_answer(*refused)(scope, receive, send)
            return
        scope = _of_cluster(_as_json(scope))
        try:
            body = await _body(receive)
        except ClientDisconnect:
            return
        if body is None:
            await error_answer(413, "TOO_LARGE", f"a body has at most {MAX_BODY_BYTES} bytes")(scope, receive, send)
            return
        is_read = False

        async def read() -> Message:
            nonlocal is_read
            if is_read:
                return await receive()  # the message that the client has disconnected
            is_read = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self._app(scope, read, send)

    def _refused(self, path: str, headers: Mapping[bytes, str]) -> tuple[int, str, str] | None:
        host = headers.get(b"host", "")
        origin = headers.get(b"origin")
        name = _name(f"//{host}")
        if name is None and host:
            return 403, "FORBIDDEN", f"Host is {_shown(host)}, which is no address"
        if origin is not None and (not _name(origin) or urlsplit(origin).netloc.lower() != host.lower()):
            return 403, "FORBIDDEN", f"a page of {_shown(origin)} may not ask here"
        if self._token is None:
            if not self._is_ours(name):
                return 403, "FORBIDDEN", f"Host is {_shown(host)}: without a token it is an address or localhost"
        elif path not in _OPEN:
            scheme, _, token = headers.get(b"authorization", "").partition(" ")
            right = hmac.compare_digest(token.strip().encode("latin-1"), self._token)
            if scheme.lower() != "bearer" or not right:
                return 401, "UNAUTHORIZED", "the header Authorization: Bearer TOKEN is missing or wrong"
        return None

    def _is_ours(self, name: str | None) -> bool:
        if name is None:
            return False
        try:
            return name in ("localhost", self._host) or bool(ip_address(name))
        except ValueError:
            return False


def _name(url: str) -> str | None:
    """Return the host of a URL in lower case; None if there is none, or the URL is invalid."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _shown(text: str) -> str:
    return ascii(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


async def _body(receive: Receive) -> bytes | None:
    """Return the whole body; None if it is too large. Raises ClientDisconnect if the rest will not come."""
    parts: list[bytes] = []
    left = MAX_BODY_BYTES
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        left -= len(parts[-1])
        if left < 0:
            if message.get("more_body", False):
                await _throw_away(receive)
            return None
        if not message.get("more_body", False):
            return b"".join(parts)


async def _throw_away(receive: Receive) -> None:
    """Read the rest of a body, up to a limit: an earlier close would reset the connection, and the response would be
    lost."""
    left = _LEFT_UNREAD
    while left > 0:
        message = await receive()
        left -= len(message.get("body", b""))
        if not message.get("more_body", False):  # False too if the client has disconnected
            return


def _length(headers: Mapping[bytes, str]) -> int:
    text = headers.get(b"content-length", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def _as_json(scope: Scope) -> Scope:
    """Return the request with JSON as content type, whatever it was: curl's -d sends another one."""
    headers = [(name, value) for name, value in scope["headers"] if name != b"content-type"]
    return {**scope, "headers": [*headers, (b"content-type", b"application/json")]}


def _of_cluster(scope: Scope) -> Scope:
    path = scope["path"]
    if path.startswith(_OF_CLUSTERS):
        cluster_id, slash, rest = path.removeprefix(_OF_CLUSTERS).partition("/")
        if slash and rest:
            return {**scope, "path": f"/v1/{rest}", "raw_path": None, "cluster_id": cluster_id}
    return scope

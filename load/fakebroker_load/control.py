"""The parts of fakebroker's HTTP control that a load needs, such as resuming frozen followers before the log is
read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

TIMEOUT_S = 10


class ControlCallError(Exception):
    """The control cannot be used; the message is for the user."""


def is_url(text: str) -> bool:
    """Return True for a URL that a control may have."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def check_control(url: str, token: str | None = None) -> None:
    """Check the address before the load. Raises ControlCallError."""
    _ask(url, token, "GET", "/v1/cluster", None, "it does not answer as fakebroker's control")


def ask_control(url: str, token: str | None, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
    """Return the JSON response of the control; None if it is empty. Raises ControlCallError."""
    sent = None if body is None else json.dumps(body).encode()
    answer = _ask(url, token, method, path, sent, f"{method} {path} fails")
    return json.loads(answer) if answer else None


def resume_followers(url: str, topics: Iterable[str], token: str | None = None) -> None:
    """Let the followers of these topics replicate. Raises ControlCallError."""
    for topic in topics:
        body = json.dumps({"behaviour": "resume", "topic": topic}).encode()
        _ask(url, token, "PUT", "/v1/followers", body, f"the followers of {topic} cannot be resumed")


def _ask(url: str, token: str | None, method: str, path: str, body: bytes | None, complaint: str) -> bytes:
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    try:
        if not url.startswith(("http://", "https://")):
            raise ValueError("it begins with neither http:// nor https://")
        request = Request(f"{url.rstrip('/')}{path}", body, headers, method=method)
        with urlopen(request, timeout=TIMEOUT_S) as answer:
            return bytes(answer.read())
    except HTTPError as error:
        with error:
            said = error.read(1_000).decode(errors="replace").strip()
        raise ControlCallError(f"--control {url}: {complaint} ({error}{': ' if said else ''}{said}).") from None
    except (OSError, ValueError, HTTPException) as error:
        raise ControlCallError(f"--control {url}: {complaint} ({error}).") from None

"""fakebroker's HTTP control, as far as a load needs it: followers that stand still go on before the log is read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from urllib.error import URLError
from urllib.request import Request, urlopen

TIMEOUT_S = 10


class ControlError(Exception):
    """The control cannot be used; the message is for the user."""


def resume_followers(url: str, topics: Iterable[str]) -> None:
    """Let the followers of these topics replicate. Raises ControlError."""
    for topic in topics:
        body = json.dumps({"behaviour": "resume", "topic": topic}).encode()
        request = Request(f"{url.rstrip('/')}/v1/followers", body, {"Content-Type": "application/json"}, method="PUT")
        try:
            with urlopen(request, timeout=TIMEOUT_S):
                pass
        except (OSError, URLError, ValueError) as error:
            raise ControlError(f"--control {url}: the followers of {topic} cannot be resumed ({error}).") from None

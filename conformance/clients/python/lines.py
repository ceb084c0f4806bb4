"""Lines of JSON between the harness and a member or an administrator (../README.md)."""

from __future__ import annotations

import json
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any


class NotThere(Exception):
    """The client has no such call."""


def tell(event: dict[str, Any]) -> None:
    print(json.dumps(event), flush=True)


def told() -> Iterator[dict[str, Any]]:
    """Yield the messages of the harness until there are no more."""
    for line in sys.stdin:
        yield json.loads(line)


def words() -> queue.Queue[str]:
    """Return a queue of the words that the harness sends to a member."""
    received: queue.Queue[str] = queue.Queue()

    def listen() -> None:
        for word in told():
            received.put(word["do"])

    threading.Thread(target=listen, daemon=True).start()
    return received


def answer_calls(do: Callable[[dict[str, Any]], object], named: Callable[[Exception], str]) -> None:
    """One answer for each call."""
    for call in told():
        try:
            tell({"result": do(call)})
        except NotThere:
            tell({"unsupported": True})
        except Exception as error:
            tell({"error": named(error)})

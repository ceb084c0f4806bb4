"""Requests to the controller with a timeout of 0 or less.

Theory   Kafka's controller does one thing after the other. A queued event has a deadline, and the queue first fails
         events with a passed deadline. A timeout of 0 has always passed, so nothing is done. With any other timeout it
         is done here at once.
Source   ControllerRequestContext.requestTimeoutMsToDeadlineNs, KafkaEventQueue.EventHandler.handleEvents @ 4.4
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

_NONE: Final = timedelta(0)


def has_no_time(timeout: timedelta) -> bool:
    """Return True if the request is REQUEST_TIMED_OUT already."""
    return timeout <= _NONE

"""Requests to the controller that give it no time.

Theory   Kafka's controller does one thing after the other. What waits has a deadline, and who looks for what to do next
         tells those whose deadline has passed before anything else: so a timeout of 0 has always passed, and nothing is
         done. With any time at all it is done here at once.
Source   ControllerRequestContext.requestTimeoutMsToDeadlineNs, KafkaEventQueue.EventHandler.handleEvents @ 4.4
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

_NONE: Final = timedelta(0)


def has_no_time(timeout: timedelta) -> bool:
    """Is it REQUEST_TIMED_OUT already?"""
    return timeout <= _NONE

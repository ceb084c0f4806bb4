"""Debug lines of parked Produce requests: one for each partition when the request expires or completes.

Theory   A listener of the probe, attached where the log `fakebroker` shows debug lines when a cluster starts, and
         nowhere else: it costs nothing otherwise.
Source   core/.../server/DelayedProduce.scala onExpiration: "Expiring produce request for partition ...". Kafka has no
         line for a request that completes.
"""

from __future__ import annotations

import logging

from fakebroker.core.probe import Listener
from fakebroker.core.replication.delayed_produce import DelayedProduce
from fakebroker.protocol.error_code import kafka_name

log = logging.getLogger("fakebroker")


class PurgatoryLog(Listener):
    """The listener that writes these lines. Attach it before the first request."""

    def __init__(self) -> None:
        self._timeouts_ms: dict[DelayedProduce, int] = {}  # timeouts of the parked requests

    def parked(self, operation: object, api: str, timeout_ms: int) -> None:
        if isinstance(operation, DelayedProduce):
            self._timeouts_ms[operation] = timeout_ms

    def unparked(self, operation: object, has_expired: bool) -> None:
        if not isinstance(operation, DelayedProduce) or operation not in self._timeouts_ms:
            return
        timeout_ms = self._timeouts_ms.pop(operation)
        how = f"expired after {timeout_ms} ms" if has_expired else "completed"
        for entry in operation.status:
            response = entry.response
            log.debug(
                "parked produce request %s: partition %s, required offset %d, %s",
                how, entry.topic_partition, entry.required_offset, kafka_name(response.error_code),
            )  # fmt: skip

"""Debug lines of parked Produce requests: one for each partition when the request expires or completes.

Theory   A listener of the probe, attached where the log `fakebroker` shows debug lines when a cluster starts, and
         nowhere else: it costs nothing otherwise.
Source   core/.../server/DelayedProduce.scala onExpiration: "Expiring produce request for partition ...". Kafka has no
         line for a request that completes.
"""

from __future__ import annotations

import logging

from fakebroker.core.journal.events import Event, Expired
from fakebroker.core.replication.delayed_produce import DelayedProduce
from fakebroker.protocol.error_code import kafka_name

log = logging.getLogger("fakebroker")


def log_unparked(event: Event, subject: object) -> None:
    """Write these lines. This is a listener of Completed and Expired."""
    if not isinstance(subject, DelayedProduce):
        return
    how = f"expired after {subject.delay_ms} ms" if isinstance(event, Expired) else "completed"
    for entry in subject.status:
        response = entry.response
        log.debug(
            "parked produce request %s: partition %s, required offset %d, %s",
            how, entry.topic_partition, entry.required_offset, kafka_name(response.error_code),
        )  # fmt: skip

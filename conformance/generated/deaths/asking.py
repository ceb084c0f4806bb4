"""The frames of what a plan asks, and the words of what is told, alike for both sides."""

from __future__ import annotations

from typing import Any, Final

from conformance import frames
from conformance.generated.deaths.plan import Ask
from conformance.targets.wire import Sent

BY_DESIGN: Final = 1 << 29  # bytes that never come


def frame_of(request: Ask, topic: str) -> tuple[Sent, bytes]:
    if request.acks is None:
        least = BY_DESIGN if request.waits else 1
        frame = frames.fetch(
            topic, 0, request.partition, version=request.version, max_wait_ms=request.wait_ms, min_bytes=least
        )
        return Sent(frames.FETCH, request.version), frame
    records = {request.partition: frames.batch(request.value)}
    frame = frames.produce(topic, records, version=request.version, acks=request.acks, timeout_ms=request.wait_ms)
    return Sent(frames.PRODUCE, request.version), frame


def partition_words(part: Any) -> dict[str, Any]:
    return {
        "error_code": int(part.error_code),
        "leader": int(part.leader_id),
        "epoch": int(part.leader_epoch),
        "isr": sorted(map(int, part.isr_nodes)),
        "elr": sorted(map(int, part.eligible_leader_replicas or ())),
        "last_known_elr": sorted(map(int, part.last_known_elr or ())),
        "offline": sorted(map(int, part.offline_replicas)),
    }


def without_ports(words: dict[str, Any]) -> dict[str, Any]:
    """Remove the ports, and the name of the topic: each side has its own."""
    says = words["says"]
    if isinstance(says, dict):
        if says.get("node_endpoints"):
            says["node_endpoints"] = sorted(node["node_id"] for node in says["node_endpoints"])
        for topic in says.get("responses", ()):
            topic.pop("name", None)
            topic.pop("topic", None)
    return words

"""The id of a subscription to clients' metrics: a checksum of its metrics, its interval and the client (KIP-714).

Source   server/.../ClientMetricsManager.java computeSubscriptionId; clients/.../common/Uuid.java hashCode @ 4.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from fakebroker.protocol.record_batch import update_crc


def compute_subscription_id(metrics: Iterable[str], push_interval_ms: int, client_instance_id: UUID) -> int:
    """Return the CRC-32C of the text of both, mixed with Java's hash of the id. `metrics` are in the order of Java's
    HashSet."""
    text = f"[{', '.join(metrics)}]{push_interval_ms}".encode()
    crc = update_crc(0, text, 0, len(text))
    halves = client_instance_id.int >> 64 ^ client_instance_id.int & (1 << 64) - 1
    mixed = crc ^ halves >> 32 ^ halves & 0xFFFF_FFFF
    return mixed - (1 << 32) if mixed >> 31 else mixed

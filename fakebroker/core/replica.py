"""What a leader knows of one replica of its partition, and that replica's own log.

Source   core/.../cluster/Replica.scala @ 4.0: ReplicaState, updateFetchStateOrThrow, isCaughtUp.
Differs  The follower is modelled in this process (follower.py). It tells directly up to which moment it had
         everything, so the leader need not infer that from two successive fetches.
"""

from __future__ import annotations

from fakebroker.core.log import Log

UNKNOWN_OFFSET = -1


class Replica:
    """One replica: its log, and its state in the eyes of the leader.

    `log_end_offset` is what the last fetch of the replica proved (-1 before the first); `last_caught_up_time_ms`
    is the latest monotonic moment at which the replica held all that the leader held at that moment.
    """

    __slots__ = ("broker_id", "last_caught_up_time_ms", "log", "log_end_offset")

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.log = Log()
        self.log_end_offset = UNKNOWN_OFFSET
        self.last_caught_up_time_ms = 0

    def update_fetch_state(self, fetch_offset: int, caught_up_time_ms: int) -> None:
        """Note a fetch from `fetch_offset`: everything below it is on the replica."""
        self.log_end_offset = fetch_offset
        self.last_caught_up_time_ms = max(self.last_caught_up_time_ms, caught_up_time_ms)

    def is_caught_up(self, leader_end_offset: int, now_ms: int, replica_lag_time_max_ms: int) -> bool:
        """In sync by offset, or was within the allowed lag."""
        return (
            self.log_end_offset == leader_end_offset or now_ms - self.last_caught_up_time_ms <= replica_lag_time_max_ms
        )

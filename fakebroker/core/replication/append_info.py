"""The result of an append: its offsets, and whether the high watermark moved with it.

Source   storage/.../log/{LogAppendInfo,LeaderHwChange}.java @ 4.0.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from fakebroker.protocol.error_code import ErrorCode
from timingwheel.mypyc import mypyc_attr

# Errors for which Kafka's response has no log start offset (the "known exceptions" of appendToLocalLog).
WITHOUT_LOG_START: Final = frozenset(
    {
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.not_leader_or_follower,
        ErrorCode.message_too_large,
        ErrorCode.record_list_too_large,
        ErrorCode.corrupt_message,
        ErrorCode.kafka_storage_error,
        ErrorCode.unknown_topic_id,
        ErrorCode.invalid_topic_exception,
    }
)


class LeaderHwChange(Enum):
    """The effect of an append on the leader's high watermark. It decides which parked requests the append may
    complete."""

    INCREASED = "increased"
    SAME = "same"
    NONE = "none"


@mypyc_attr(acyclic=True, free_list_len=1)
class LogAppendInfo:
    """The offsets of an append. `log_append_time_ms` is -1 on a CreateTime topic."""

    __slots__ = ("first_offset", "last_offset", "leader_hw_change", "log_append_time_ms", "log_start_offset")

    def __init__(
        self,
        first_offset: int,
        last_offset: int,
        log_append_time_ms: int,
        log_start_offset: int,
        leader_hw_change: LeaderHwChange,
    ) -> None:
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.leader_hw_change = leader_hw_change

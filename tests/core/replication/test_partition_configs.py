"""A partition with altered settings behaves like one that was created with them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.log.plain_append import PlainRules
from fakebroker.core.replication.isr import check_invariants
from fakebroker.core.replication.partition import Partition
from fakebroker.protocol.topic_partition import TopicPartition

CONFIGS = st.builds(
    lambda changes: TopicConfig(**changes),
    st.fixed_dictionaries(
        {},
        optional={
            "min_insync_replicas": st.integers(1, 4),
            "max_message_bytes": st.integers(0, 100),
            "segment_bytes": st.integers(50, 150),
            "retention_bytes": st.integers(-1, 5),
            "retention_ms": st.integers(-1, 5),
            "cleanup_policy": st.sampled_from([("delete",), ("compact",), ("compact", "delete"), ()]),
            "compression_type": st.sampled_from(["producer", "gzip", "uncompressed"]),
            "message_timestamp_type": st.sampled_from(["CreateTime", "LogAppendTime"]),
            "message_timestamp_before_max_ms": st.integers(0, 5),
            "message_timestamp_after_max_ms": st.integers(0, 5),
        },
    ),
)


def partition(config: TopicConfig, isr: set[int]) -> Partition:
    made = Partition(TopicPartition("t", 0), [1, 2, 3], config, 30_000, 0)
    made.update_isr(isr, 0)
    return made


def derived(partition: Partition) -> list[object]:
    rules = partition.plain_rules
    return [
        partition.config,
        partition._retention_bytes,
        partition.effective_min_isr,
        partition.is_under_min_isr,
        *(getattr(rules, name) for name in PlainRules.__slots__),
    ]


@pytest.mark.interpreted
@given(CONFIGS, CONFIGS, st.sets(st.sampled_from([2, 3])))
def test_told_or_made(before: TopicConfig, after: TopicConfig, others: set[int]) -> None:
    replica = partition(before, {1} | others)
    replica.configure(after)
    check_invariants(replica)
    assert derived(replica) == derived(partition(after, {1} | others))
    assert replica.isr == {1} | others

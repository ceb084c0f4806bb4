"""The protocol of KIP-848 with a stock client that has it: patterns, and groups on their way to it and back."""

from __future__ import annotations

import pytest
from support.groups import (
    CLASSIC,
    CONSUMER_GROUP_DESCRIBE,
    CONSUMER_GROUP_HEARTBEAT,
    Brokers,
    Member,
    await_shares,
    await_values,
)

pytestmark = [
    pytest.mark.usefixtures("forked_members"),
    pytest.mark.clients,
    pytest.mark.slow,
    pytest.mark.needs_apis(*CLASSIC, CONSUMER_GROUP_HEARTBEAT, CONSUMER_GROUP_DESCRIBE),
]

CONSUMER = {"group.protocol": "consumer"}
CLASSIC_PROTOCOL = {"session.timeout.ms": 1_500, "heartbeat.interval.ms": 300}
COOPERATIVE = CLASSIC_PROTOCOL | {"partition.assignment.strategy": "cooperative-sticky"}


def test_a_pattern_is_looked_up_by_the_broker(brokers: Brokers, group: str) -> None:
    topic = brokers.topic(4)
    with (
        Member("confluent", brokers, group, f"^{topic[:-1]}.$", CONSUMER) as first,
        Member("confluent", brokers, group, f"^{topic[:-1]}.$", CONSUMER) as second,
    ):
        await_shares([first, second], [2, 2])
        await_values([first, second], brokers.produce(topic, 4, 5))


@pytest.mark.parametrize("classic", [CLASSIC_PROTOCOL, COOPERATIVE], ids=["eager", "cooperative"])
def test_a_group_goes_over_to_it_member_by_member_and_back(
    brokers: Brokers, group: str, classic: dict[str, object]
) -> None:
    topic = brokers.topic(6)
    with Member("confluent", brokers, group, topic, classic) as old:
        await_shares([old], [6])
        with Member("confluent", brokers, group, topic, CONSUMER) as new:
            await_shares([old, new], [3, 3])
            await_values([old, new], brokers.produce(topic, 6, 5))
        await_shares([old], [6])
        await_values([old], brokers.produce(topic, 6, 5, "after"))

"""aiokafka's administrator, unmodified: every call that it has, and what it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import InvalidPartitionsError, OffsetOutOfRangeError
from support.administered import COMMITTED, Administered
from support.watchdog import LIMIT_S, within

pytestmark = pytest.mark.clients

EXISTS, UNKNOWN, INVALID_TOPIC, INVALID_FACTOR, INVALID_CONFIG = 36, 3, 17, 38, 40


def administer(given: Administered, work: Callable[[AIOKafkaAdminClient], Awaitable[None]]) -> None:
    async def run() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=given.bootstrap)
        await admin.start()
        try:
            await within(work(admin))
        finally:
            await admin.close()

    asyncio.run(run())


async def becomes(look: Callable[[], Awaitable[Any]], expected: Any) -> None:
    """Wait until the result is as expected: a broker of Kafka may learn a moment later than another."""
    end = asyncio.get_running_loop().time() + LIMIT_S
    while (offsets_seen := await look()) != expected:
        assert asyncio.get_running_loop().time() < end, f"waited {LIMIT_S:g} s for {expected}; it is {offsets_seen}"


def codes(answer: Any) -> list[int]:
    return [topic_error[1] for topic_error in answer.topic_errors]


def test_topics(given: Administered) -> None:
    made = f"{given.topic}-made"

    async def work(admin: AIOKafkaAdminClient) -> None:
        async def described() -> list[tuple[int, int]]:
            [topic] = await admin.describe_topics([made])
            return sorted((partition["partition"], len(partition["replicas"])) for partition in topic["partitions"])

        async def listed() -> set[str]:
            return {name for name in await admin.list_topics() if name.startswith(given.topic)}

        assert codes(await admin.create_topics([NewTopic(made, 3, 2, topic_configs={"retention.ms": "60000"})])) == [0]
        await becomes(described, [(index, 2) for index in range(3)])
        await becomes(listed, {given.topic, made})
        for code, topic in (
            (EXISTS, NewTopic(made, 3, 2)),
            (INVALID_TOPIC, NewTopic("a b", 1, 1)),
            (INVALID_FACTOR, NewTopic("many", 1, 9)),
            (INVALID_CONFIG, NewTopic("set", 1, 1, topic_configs={"retention.ms": "never"})),
        ):
            assert codes(await admin.create_topics([topic])) == [code]
        await admin.create_partitions({made: NewPartitions(5)})
        await becomes(described, [(index, 2) for index in range(5)])
        with pytest.raises(InvalidPartitionsError):
            await admin.create_partitions({made: NewPartitions(2)})
        assert (await admin.delete_topics([made])).topic_error_codes == [(made, 0)]
        await becomes(listed, {given.topic})
        assert (await admin.delete_topics([made])).topic_error_codes == [(made, UNKNOWN)]

    administer(given, work)


def test_settings(given: Administered) -> None:
    async def work(admin: AIOKafkaAdminClient) -> None:
        def topic(**configs: str | None) -> ConfigResource:
            named = {name.replace("_", "."): value for name, value in configs.items()}
            return ConfigResource(ConfigResourceType.TOPIC, given.topic, named)

        async def shown() -> dict[str, str]:
            [answer] = await admin.describe_configs([topic(retention_ms=None, cleanup_policy=None)])
            [(code, _, _, name, entries)] = answer.resources
            assert (code, name) == (0, given.topic)
            return {entry[0]: entry[1] for entry in entries}

        [answer] = await admin.alter_configs([topic(retention_ms="5000", cleanup_policy="compact")])
        assert [resource[0] for resource in answer.resources] == [0]
        await becomes(shown, {"retention.ms": "5000", "cleanup.policy": "compact"})
        await admin.alter_configs([topic(retention_ms="6000")])  # what is not named is set back
        await becomes(shown, {"retention.ms": "6000", "cleanup.policy": "delete"})
        [answer] = await admin.alter_configs([topic(retention_ms="never")])
        assert [resource[0] for resource in answer.resources] == [INVALID_CONFIG]

    administer(given, work)


def test_records_and_groups(given: Administered) -> None:
    first = TopicPartition(given.topic, 0)

    async def work(admin: AIOKafkaAdminClient) -> None:
        assert await admin.delete_records({first: RecordsToDelete(4)}) == {first: 4}
        with pytest.raises(OffsetOutOfRangeError):
            await admin.delete_records({first: RecordsToDelete(99)})
        assert await admin.find_coordinator(given.group) in {1, 2, 3}
        offsets = await admin.list_consumer_group_offsets(given.group)
        assert {place.partition: offset.offset for place, offset in offsets.items()} == COMMITTED
        offsets = await admin.list_consumer_group_offsets(given.group, partitions=[first])
        assert {place.partition: offset.offset for place, offset in offsets.items()} == {0: COMMITTED[0]}
        assert (given.group, "") in await admin.list_consumer_groups()
        [answer] = await admin.describe_consumer_groups([given.group])
        [(code, name, state, _, _, members)] = answer.groups
        assert (code, name, state, members) == (0, given.group, "Empty", [])

    administer(given, work)


def test_the_cluster(given: Administered) -> None:
    async def work(admin: AIOKafkaAdminClient) -> None:
        cluster = await admin.describe_cluster()
        assert {f"{broker['host']}:{broker['port']}" for broker in cluster["brokers"]} == set(
            given.bootstrap.split(",")
        )
        assert sorted(broker["node_id"] for broker in cluster["brokers"]) == [1, 2, 3]
        assert cluster["controller_id"] in {1, 2, 3}

    administer(given, work)

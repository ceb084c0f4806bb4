"""Topics made from Python and the command line pass the same checks, and a refusal is one clear sentence."""

from __future__ import annotations

import pytest
from support.simulation import Simulation
from support.topics import topic_of

from fakebroker.core.controller.topics import NewTopic
from fakebroker.protocol.errors import KafkaError


@pytest.mark.parametrize(
    ("new", "code", "message"),
    [
        (NewTopic("a_b"), 17, "Topic 'a_b' collides with existing topic: a.b"),
        (NewTopic("a.b"), 36, "Topic 'a.b' already exists."),
        (NewTopic("__cluster_metadata"), 42, "Creation of internal topic __cluster_metadata is prohibited."),
        (NewTopic("t", 10_001), 44, "Excessively large number of partitions per request."),
        (NewTopic("t", 1, 1, (), {"nonsense": "1"}), 40, "Unknown topic config name: nonsense"),
        (
            NewTopic("t", 1, 1, (), {"segment.ms": "1_000"}),
            40,
            "Invalid value 1_000 for configuration segment.ms: Not a number of type LONG",
        ),
        (
            NewTopic("t", -1, -1, [(0, [1]), (0, [2])]),
            39,
            "Found multiple manual partition assignments for partition 0",
        ),
    ],
)
def test_what_cannot_be_made(new: NewTopic, code: int, message: str) -> None:
    simulation = Simulation()
    simulation.topic("a.b")
    with pytest.raises(KafkaError) as raised:
        simulation.cluster.admin.create_topic(new, simulation.now)
    assert (int(raised.value.code), raised.value.message) == (code, message)
    assert str(raised.value) == message
    assert simulation.cluster.metadata.topic_names() == ["a.b"]


def test_a_refused_topic_does_not_change_the_ids_of_others() -> None:
    ids = []
    for refusals in (0, 3):
        simulation = Simulation()
        for _ in range(refusals):
            with pytest.raises(KafkaError):
                simulation.cluster.admin.create_topic(NewTopic(".."), simulation.now)
        simulation.topic("t")
        ids.append(topic_of(simulation.cluster).topic_id)
    assert ids[0] == ids[1]


def test_settings_reach_the_partitions() -> None:
    simulation = Simulation(config={"min.insync.replicas": "2", "message.max.bytes": "5000"})
    simulation.topic("t", max_message_bytes=100, retention_ms=-1)
    topic = simulation.cluster.metadata.topic("t")
    assert topic is not None
    config = topic.partitions[0].config
    assert (config.min_insync_replicas, config.max_message_bytes) == (2, 100)

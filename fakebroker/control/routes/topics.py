"""Topics, partitions and followers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel
from starlette.responses import Response

from fakebroker.control.answers import PartitionNow, TopicLine, TopicNow, partition_now, topic_line, topic_text
from fakebroker.control.bodies import Configs, Followers, NewLeader, NewReplicas, NewTopic
from fakebroker.control.clusters import settings, topic_made
from fakebroker.control.errors import ControlError, given
from fakebroker.control.here import Here, Route, change
from fakebroker.control.hosted import HostedCluster
from fakebroker.core.errors import KafkaError
from fakebroker.core.replication.behaviour import Selection
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.slices import least_in_slices
from fakebroker.server.followers_in_hand import FollowerBehaviours as FollowersInHand
from fakebroker.server.followers_in_hand import Step

router = APIRouter(route_class=Route)

TopicName = Annotated[str, Path(max_length=1000)]
Index = Annotated[int, Path(ge=0, le=2**31 - 1)]


class TopicList(BaseModel):
    """`next` is the `after` of the next page; null on the last one."""

    topics: list[TopicLine]
    next: str | None


class Compacted(BaseModel):
    partitions: int


@router.post("/topics", tags=["topics"], status_code=201, response_model=TopicNow)
async def create_topic(here: Here, new: NewTopic) -> Response:
    """Create a topic."""
    with given():
        await change(here, topic_made, here, new)
    return await _topic(here, new.name, 201)


@router.get("/topics", tags=["topics"])
async def get_topics(
    here: Here,
    after: Annotated[str | None, Query(max_length=1000)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> TopicList:
    """The topics by name, page by page."""
    names = await here.work.do(least_in_slices(list(here.core.metadata.names), limit + 1, after))
    topics = [here.core.metadata.topic(name) for name in names[:limit]]
    return TopicList(
        topics=[topic_line(topic) for topic in topics if topic is not None],  # without those that have just gone
        next=names[limit - 1] if len(names) > limit else None,
    )


@router.get("/topics/{topic}", tags=["topics"], response_model=TopicNow)
async def get_topic(here: Here, topic: TopicName) -> Response:
    """A topic: leaders, in-sync replicas, offsets, and the behaviour of its followers."""
    return await _topic(here, topic)


@router.delete("/topics/{topic}", tags=["topics"], status_code=204)
async def delete_topic(here: Here, topic: TopicName) -> None:
    """Delete a topic; requests parked for it get UNKNOWN_TOPIC_OR_PARTITION."""
    await change(here, here.administration.delete_topic, topic)


@router.put("/topics/{topic}/configs", tags=["settings"], response_model=TopicNow)
async def alter_topic_configs(here: Here, topic: TopicName, body: Configs) -> Response:
    """Set some settings of a topic, or reset them with null; the others stay."""
    with given():
        await change(here, here.administration.alter_topic_configs, topic, settings(body.configs))
    return await _topic(here, topic)


@router.post("/topics/{topic}/compact", tags=["topics"])
async def compact(here: Here, topic: TopicName) -> Compacted:
    """Compact a topic with cleanup.policy=compact now. Returns how many partitions were cleaned."""
    return Compacted(partitions=await change(here, here.administration.compact, topic))


@router.put("/partitions/{topic}/{index}/leader", tags=["topics"])
async def move_leader(here: Here, topic: TopicName, index: Index, body: NewLeader) -> PartitionNow:
    """Make an in-sync replica the leader. Requests parked at the old leader get NOT_LEADER_OR_FOLLOWER."""
    with given():
        here.administration.move_leader(topic, index, body.broker)
    return _partition(here, topic, index)


@router.put("/partitions/{topic}/{index}/replicas", tags=["topics"])
async def reassign(here: Here, topic: TopicName, index: Index, body: NewReplicas) -> PartitionNow:
    """Reassign a partition to other replicas; new ones copy the log as their follower behaviour says."""
    with given():
        here.administration.reassign(topic, index, body.brokers)
    return _partition(here, topic, index)


@router.put("/followers", tags=["followers"], status_code=204)
async def set_followers(here: Here, body: Followers) -> None:
    """Change the behaviour of followers; if they are frozen, acks=all on their partitions times out."""
    wanted: list[tuple[Sequence[Step], Selection]] = []
    followers = FollowersInHand(lambda steps, selection: wanted.append((steps, selection)))
    whom = body.topic, body.partition, body.broker
    if (body.behaviour is None) == (body.script is None):
        raise ControlError(422, "INVALID_BODY", "give exactly one of behaviour and script")
    if (body.lag_ms is not None) != (body.behaviour == "lagging"):
        raise ControlError(422, "INVALID_BODY", '"behaviour": "lagging" needs lag_ms, and no other behaviour has it')
    if (body.bytes_per_s is not None) != (body.behaviour == "throttled"):
        raise ControlError(
            422, "INVALID_BODY", '"behaviour": "throttled" needs bytes_per_s, and no other behaviour has it'
        )
    with given():
        if body.script is not None:
            followers.script(body.script, *whom)
        elif body.lag_ms is not None:
            followers.lag(body.lag_ms, *whom)
        elif body.bytes_per_s is not None:
            followers.throttle(body.bytes_per_s, *whom)
        else:
            act = {
                "instant": followers.instant,
                "frozen": followers.freeze,
                "external": followers.external,
                "resume": followers.resume,
            }[str(body.behaviour)]
            act(*whom)
        await change(here, here.administration.script_followers, *wanted[0])


async def _topic(here: HostedCluster, name: str, status: int = 200) -> Response:
    """Return a TopicNow."""
    text = await here.work.do(topic_text(here.core, name))
    return Response(text, status, media_type="application/json")


def _partition(here: HostedCluster, topic: str, index: int) -> PartitionNow:
    partition = here.core.metadata.find_partition(topic, index)
    if partition is None:
        raise KafkaError(ErrorCode.unknown_topic_or_partition, f"there is no partition {index} of {topic!r}")
    return partition_now(here.core, partition)

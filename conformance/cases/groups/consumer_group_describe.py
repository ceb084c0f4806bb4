"""ConsumerGroupDescribe: the description of groups of every kind and state."""

from __future__ import annotations

from conformance.consumer_group_frames import describe, heartbeat, join, one_by_one
from conformance.group_steps import alone
from conformance.scenario import AwaitCoordinator, Case, Pause, Step, Topic

VERSIONS = (0, 1)
_BOX = "consumer-groups"


def _case(what: str, why: str, *steps: Step, topics: tuple[Topic, ...] = ()) -> Case:
    return Case(f"consumer-describe/{what}", why, (AwaitCoordinator("warm"), *steps), topics, box=_BOX)


def _errors(version: int) -> Case:
    classic, consumer = f"cgd-classic-v{version}", f"cgd-consumer-v{version}"
    return _case(
        f"errors-v{version}",
        "an unknown group, no id, a classic group, one group twice; an empty request",
        *alone(classic),
        *one_by_one(
            join(consumer, "m"),
            describe(version=version),
            describe("", version=version),
            describe("cgd-nothing", version=version),
            describe(classic, version=version),
            describe(consumer, consumer, version=version),
            describe("", consumer, "cgd-nothing", "", classic, version=version),
            describe(consumer, "cgd-nothing", version=version, operations=True),
        ),
    )


def _all_of_it(version: int) -> Case:
    group = topic = f"cgd-all-v{version}"
    return _case(
        f"all-v{version}",
        "all fields of a member",
        *one_by_one(
            join(group, "m", topic, "cgd-not-there", version=1, instance_id="i", rack_id="r", assignor="range"),
            describe(group, version=version, operations=True),
            join(group, "n", version=1, regex=f"cgd-a.l-v{version}"),
        ),
        Pause(300),
        *one_by_one(
            describe(group, version=version),
            heartbeat(group, "m", 2, version=version, owned={topic: [0, 1]}),
            describe(group, version=version),
        ),
        topics=(Topic(topic, partitions=2),),
    )


CASES: list[Case] = [make(version) for make in (_errors, _all_of_it) for version in VERSIONS]

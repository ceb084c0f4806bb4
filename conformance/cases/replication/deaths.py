"""Killed brokers: what clients see before the controller notices, when it does, and after."""

from __future__ import annotations

from conformance.dying.steps import (
    ALL,
    BOXES,
    DESCRIBED_ID,
    FENCED_MS,
    FENCED_SLACK_MS,
    QUIET_MS,
    WITHOUT_2,
    DeathCases,
    back,
    led_by_2,
    told,
)
from conformance.frames import batch, fetch, list_offsets, metadata, produce
from conformance.scenario import At, Case, KillBroker, Pause, ReadLog, Send, Settle, StartBroker, StopBroker
from conformance.shared_steps import warm


class _Killed(DeathCases):
    def all(self) -> list[Case]:
        return [self._leader_killed(), self._too_few_left(), self._two_killed(), self._last_one_killed()]

    def _leader_killed(self) -> Case:
        led, followed = self._topic("killed", min_isr=2, leader=2), self._topic("killed-followed")
        parked = (produce(followed.name, batch(b"2 follows"), timeout_ms=20_000, version=11, correlation_id=1),)
        refused = tuple(
            produce(led.name, batch(b"refused"), version=version, acks=1, correlation_id=version)
            for version in (9, 10, 12)
        )
        reads = (fetch(led.name, version=10, correlation_id=20), fetch(led.name, version=12, correlation_id=21))
        steps = (
            *led_by_2(led),
            *warm(followed.name),
            Send((fetch(led.name, 1, version=12, max_wait_ms=20_000),), "b", 2),
            Send((metadata([led.name]),), "idle", 2),
            Settle("idle"),
            Pause(QUIET_MS),
            KillBroker(2),
            Settle("b"),
            Settle("idle"),
            Send(parked, "parked"),
            Send((*refused, *reads), "c"),
            Settle("c"),
            Send((*refused, *reads), "at-3", 3),
            Settle("at-3"),
            *told(led, followed),
            self._await(led, 1, WITHOUT_2),
            Settle("parked"),
            *told(led, followed, correlation_id=DESCRIBED_ID + 10),
            Send((produce(led.name, batch(b"1 leads"), version=11, correlation_id=30),), "c"),
            Settle("c"),
            Send((produce(led.name, batch(b"3 does not"), version=11, correlation_id=31),), "at-3", 3),
            Settle("at-3"),
            *back(led, followed),
            ReadLog(led.name),
            ReadLog(followed.name),
        )
        why = "the leader crashes: it leads until its session ends; parked requests are cut off, others wait for it"
        timed = (At(1, FENCED_MS, FENCED_SLACK_MS, "parked"),)
        return self._case("leader-killed", why, steps, (led, followed), timed)

    def _too_few_left(self) -> Case:
        topic = self._topic("too-few", min_isr=3)
        steps = (
            *warm(topic.name),
            Pause(QUIET_MS),
            KillBroker(2),
            Send((produce(topic.name, batch(b"parked"), timeout_ms=5_000, version=11),)),
            Settle(),
            self._await(topic, 1, WITHOUT_2, (2,)),
            *told(topic),
            Send(
                (
                    produce(topic.name, batch(b"refused"), version=11, correlation_id=2),
                    produce(topic.name, batch(b"unseen"), acks=1, version=11, correlation_id=3),
                    fetch(topic.name, 1, correlation_id=4),
                    list_offsets(topic.name, -1, correlation_id=5),
                )
            ),
            Settle(),
            *back(topic),
            ReadLog(topic.name),
        )
        why = (
            "a follower that min.insync.replicas needs crashes: REQUEST_TIMED_OUT, then NOT_ENOUGH_REPLICAS; it is "
            "an eligible leader replica (KIP-966)"
        )
        return self._case("too-few", why, steps, (topic,), (At(1, 5_000),))

    def _two_killed(self) -> Case:
        topic = self._topic("two-killed", min_isr=2)
        first, second = 2, 3
        steps = (
            *warm(topic.name),
            Pause(QUIET_MS),
            KillBroker(first),
            self._await(topic, 1, tuple({1, 2, 3} - {first})),
            *told(topic),
            KillBroker(second),
            self._await(topic, 1, (1,), (second,)),
            *told(topic, correlation_id=60),
            Send(
                (
                    produce(topic.name, batch(b"refused"), version=11, correlation_id=2),
                    produce(topic.name, batch(b"unseen"), acks=1, version=11, correlation_id=3),
                    fetch(topic.name, correlation_id=4),
                )
            ),
            Settle(),
            StartBroker(second),
            self._await(topic, 1, (1, second)),
            *told(topic, correlation_id=70),
            StartBroker(first),
            self._await(topic, 1, ALL),
            *told(topic, correlation_id=80),
            ReadLog(topic.name),
        )
        why = "two of three brokers crash: a replica that leaves too few in sync is eligible until it registers again"
        return self._case("two-killed", why, steps, (topic,))

    def _last_one_killed(self) -> Case:
        topic = self._topic("last", replicas=2)
        frames = (
            produce(topic.name, batch(b"nobody leads"), version=9, correlation_id=1),
            produce(topic.name, batch(b"nobody leads"), version=11, correlation_id=2),
            fetch(topic.name, version=10, correlation_id=3),
            fetch(topic.name, version=12, correlation_id=4),
            list_offsets(topic.name, -1, correlation_id=5),
        )
        steps = (
            *warm(topic.name),
            Pause(QUIET_MS),
            StopBroker(1),
            self._await(topic, 2, (2,), broker=3),
            Send((produce(topic.name, batch(b"2 alone"), version=11),), "b", 2),
            Settle("b"),
            Pause(QUIET_MS),
            KillBroker(2),
            self._nobody(topic, 2, broker=3),
            *told(topic, broker=3),
            Send(frames, "at-3", 3),
            Settle("at-3"),
            StartBroker(1),
            self._nobody(topic, 2, broker=1),
            *told(topic, correlation_id=60, broker=3),
            StartBroker(2),
            self._await(topic, 2, (1, 2)),
            *told(topic, correlation_id=70, broker=3),
            Send((produce(topic.name, batch(b"2 leads again"), version=11),), "c", 2),
            Settle("c"),
            ReadLog(topic.name, broker=2),
        )
        why = (
            "the last in-sync replica crashes: the partition has no leader until this replica returns, whichever "
            "others return"
        )
        return self._case("last", why, steps, (topic,))


CASES = [case for box in BOXES for case in _Killed(box).all()]

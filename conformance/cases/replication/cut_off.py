"""Leaders that are cut off from the controller: others lead, and they do not know."""

from __future__ import annotations

from conformance.dying.steps import ALL, QUIET_MS, WITHOUT_2, DeathCases, led_by_2, told
from conformance.frames import batch, fetch, list_offsets, produce
from conformance.scenario import At, Case, CutOff, Join, Pause, ReadLog, Send, Settle
from conformance.shared_steps import warm

_TIMEOUT_MS = 1_500


class _CutOff(DeathCases):
    def all(self) -> list[Case]:
        return [self._others_lead(), self._only_replica(), self._follower()]

    def _others_lead(self) -> Case:
        topic = self._topic("led", min_isr=2, leader=2)
        reads = (
            fetch(topic.name, 0, version=10, correlation_id=20),
            fetch(topic.name, 1, version=12, correlation_id=21),
            list_offsets(topic.name, -1, correlation_id=22),
        )
        steps = (
            *led_by_2(topic),
            CutOff(2),
            Send((produce(topic.name, batch(b"in time"), version=11, correlation_id=1),), "b", 2),
            Settle("b"),
            self._await(topic, 1, WITHOUT_2),
            *told(topic, broker=2),
            *told(topic),
            Send((produce(topic.name, batch(b"lost"), acks=1, version=11, correlation_id=2),), "b", 2),
            Settle("b"),
            Send(reads, "b", 2),
            Settle("b"),
            Send((produce(topic.name, batch(b"late"), timeout_ms=_TIMEOUT_MS, version=11, correlation_id=3),), "c", 2),
            Settle("c"),
            Send((produce(topic.name, batch(b"told"), timeout_ms=60_000, version=11, correlation_id=4),), "d", 2),
            Send((fetch(topic.name, 2, version=10, max_wait_ms=60_000, correlation_id=5),), "e", 2),
            Send((produce(topic.name, batch(b"1 leads"), version=11, correlation_id=6),)),
            Settle(),
            Pause(QUIET_MS),
            Join(2),
            Settle("d"),
            Settle("e"),
            self._await(topic, 1, ALL),
            *told(topic, broker=2, correlation_id=70),
            Send((produce(topic.name, batch(b"refused"), acks=1, version=11, correlation_id=7), *reads), "b", 2),
            Settle("b"),
            ReadLog(topic.name),
        )
        why = (
            "a leader without connection to the controller is replaced and does not know it: acks=1 is lost, "
            "acks=all waits"
        )
        return self._case("others-lead", why, steps, (topic,), (At(3, _TIMEOUT_MS, conn="c"),))

    def _only_replica(self) -> Case:
        topic = self._topic("alone", replicas=1)
        steps = (
            *warm(topic.name),
            Pause(QUIET_MS),
            CutOff(1),
            self._nobody(topic, 1, broker=3),
            *told(topic),
            *told(topic, broker=3),
            Send((produce(topic.name, batch(b"kept"), version=11, correlation_id=1),), "b"),
            Settle("b"),
            Join(1),
            self._await(topic, 1, (1,), broker=3),
            Pause(QUIET_MS),  # until 1 hears of it too
            *told(topic, correlation_id=70),
            ReadLog(topic.name),
        )
        why = (
            "a leader without connection to the controller, and no other replica can lead: it stays the leader, "
            "and nothing is lost"
        )
        return self._case("nobody-else-leads", why, steps, (topic,))

    def _follower(self) -> Case:
        topic = self._topic("followed")
        steps = (
            *warm(topic.name),
            Pause(QUIET_MS),
            CutOff(2),
            Send((produce(topic.name, batch(b"2 follows"), timeout_ms=20_000, version=11),)),
            Settle(),
            self._await(topic, 1, WITHOUT_2),
            *told(topic, broker=2),
            Send((produce(topic.name, batch(b"and goes on"), timeout_ms=20_000, version=11, correlation_id=2),)),
            Settle(),
            Pause(QUIET_MS),
            Send((fetch(topic.name, 0, version=12, correlation_id=3),), "b", 2),
            Settle("b"),
            Join(2),
            self._await(topic, 1, ALL),
            ReadLog(topic.name),
        )
        why = "a follower without connection to the controller still fetches, outside the ISR"
        return self._case("a-follower", why, steps, (topic,))


CASES = _CutOff("cuts").all()

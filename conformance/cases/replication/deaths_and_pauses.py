"""Brokers that shut down in order, and brokers that are paused and resumed."""

from __future__ import annotations

from conformance.dying.steps import (
    ALL,
    APART_MS,
    FENCED_MS,
    FENCED_SLACK_MS,
    QUIET_MS,
    WITHOUT_2,
    DeathCases,
    back,
    led_by_2,
    told,
)
from conformance.frames import batch, fetch, produce
from conformance.scenario import (
    At,
    Case,
    KillBroker,
    Pause,
    PauseBroker,
    ReadLog,
    ResumeBroker,
    Send,
    Settle,
    StopBroker,
)
from conformance.shared_steps import warm

_WAIT_MS = 500  # replica.fetch.wait.max.ms


class _StoppedAndPaused(DeathCases):
    def all(self) -> list[Case]:
        return [
            self._stopped_in_order(),
            self._paused_shortly(),
            self._paused_too_long(),
            self.answered_in_the_socket(
                "paused-follower", 0, "has the first record when it resumes, and leads with it"
            ),
            self.answered_in_the_socket("paused-follower-late", _WAIT_MS + 200, "had an empty response before"),
            self._waits_for_a_paused_broker(),
        ]

    def _stopped_in_order(self) -> Case:
        led, needed = self._topic("stopped", leader=2), self._topic("stopped-needed", min_isr=3)
        steps = (
            *led_by_2(led),
            *warm(needed.name),
            Send((fetch(led.name, 1, version=10, max_wait_ms=20_000),), "old", 2),
            Send((fetch(led.name, 1, version=12, max_wait_ms=20_000),), "new", 2),
            Pause(QUIET_MS),
            StopBroker(2),
            Settle("old"),
            Settle("new"),
            self._await(led, 1, WITHOUT_2),
            *told(led, needed),
            Send(
                (
                    produce(led.name, batch(b"1 leads"), version=11, correlation_id=2),
                    produce(needed.name, batch(b"refused"), version=11, correlation_id=3),
                )
            ),
            Settle(),
            *back(led, needed),
            ReadLog(led.name),
            ReadLog(needed.name),
        )
        why = "controlled shutdown: other brokers lead, parked requests get their responses, and then connections close"
        return self._case("stopped", why, steps, (led, needed))

    def _paused_shortly(self) -> Case:
        topic = self._topic("paused", min_isr=2, leader=2)
        steps = (
            *led_by_2(topic),
            PauseBroker(2),
            Send((produce(topic.name, batch(b"late"), timeout_ms=400, version=11),), "b", 2),
            Pause(1_000),
            ResumeBroker(2),
            Settle("b"),
            *told(topic),
            ReadLog(topic.name, broker=2),
        )
        why = "a leader pauses for less than its session: its responses are late, and nothing else happens"
        return self._case("paused-shortly", why, steps, (topic,), (At(1, 1_000, 1_500, "b"),))

    def _paused_too_long(self) -> Case:
        topic, followed = self._topic("paused-long", min_isr=2, leader=2), self._topic("paused-followed")
        steps = (
            *led_by_2(topic),
            *warm(followed.name),
            Send((fetch(topic.name, 1, version=12, max_wait_ms=30_000),), "reads", 2),
            Pause(QUIET_MS),
            PauseBroker(2),
            Send((produce(topic.name, batch(b"lost"), timeout_ms=20_000, version=9),), "b", 2),
            Send((produce(followed.name, batch(b"2 follows"), timeout_ms=20_000, version=11),), "parked"),
            self._await(topic, 1, WITHOUT_2),
            Settle("parked"),
            *told(topic, followed),
            Send((produce(topic.name, batch(b"1 leads"), version=11, correlation_id=3),)),
            Settle(),
            ResumeBroker(2),
            self._await(topic, 1, ALL, broker=2),
            Settle("reads"),
            *told(topic, followed, correlation_id=70),
            Send((produce(topic.name, batch(b"refused"), version=11, correlation_id=4),), "c", 2),
            Settle("c"),
            ReadLog(topic.name),
        )
        why = (
            "a leader pauses for longer than its session: others lead; it refuses pending requests, or drops "
            "their records"
        )
        timed = (At(1, FENCED_MS, FENCED_SLACK_MS, "parked"),)
        return self._case("paused-too-long", why, steps, (topic, followed), timed)

    def answered_in_the_socket(self, name: str, late_ms: int, what_of_it: str, dead_ms: int = 0) -> Case:
        topic = self._topic(name, replicas=2, unclean=True, leader=2)
        writes = (
            produce(topic.name, batch(b"first"), version=11, acks=1, correlation_id=1),
            produce(topic.name, batch(b"second"), version=11, acks=1, correlation_id=2),
        )
        steps = (
            *led_by_2(topic),
            Send((produce(topic.name, batch(b"beat"), version=11),), "b", 2),
            Settle("b"),
            PauseBroker(1),
            Pause(late_ms),
            Send(writes, "b", 2),
            Settle("b"),
            Pause(APART_MS),
            KillBroker(2),
            self._nobody(topic, 2, broker=3),
            *told(topic, broker=3),
            *([Pause(dead_ms)] if dead_ms else []),
            ResumeBroker(1),
            self._await(topic, 1, (1,)),
            *told(topic),
            ReadLog(topic.name),
            *back(topic),
            ReadLog(topic.name),
        )
        why = f"the leader writes two records while a follower is paused, and crashes: the follower {what_of_it}"
        return self._case(name, why, steps, (topic,))

    def _waits_for_a_paused_broker(self) -> Case:
        topic = self._topic("stop-waits", leader=2)
        steps = (
            *led_by_2(topic),
            PauseBroker(3),
            StopBroker(2),
            *told(topic),
            ResumeBroker(3),
            self._await(topic, 1, WITHOUT_2),
            *told(topic, correlation_id=60),
            *back(topic),
        )
        why = "the controlled shutdown of a leader completes only after the session of a paused broker has ended"
        return self._case("stop-waits", why, steps, (topic,))


_HASTY = _StoppedAndPaused("deaths-hasty").answered_in_the_socket(
    "given-up", 0, "has timed out its fetch when it resumes, and leads without the records", dead_ms=3_000
)
CASES = [*_StoppedAndPaused("deaths").all(), _HASTY]

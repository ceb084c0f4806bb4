"""Make rounds of plans from a seed.

Theory   A paused broker is not asked to stop: the signal would wait until it resumes. A killed broker is only started
         when everything else is at rest: Kafka takes seconds to start. A paused broker responds to its requests when it
         resumes. If its session is over by then, it may still think that it leads (`judge.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from conformance.generated.deaths.plan import BROKERS, LEADER, Ask, Event, Plan, Round

PLANS: Final = 8  # in a round
_EVENTS: Final = (3, 4, 5)  # besides those that bring all brokers back
_SHORT_MS: Final = 400  # a timeout that is over before a session is
_LONG_MS: Final = 600_000  # one that is never over
_PRODUCE: Final = (9, 10, 11, 12)
_FETCH: Final = (10, 11, 12)


def make_round(seed: int, plans: int = PLANS) -> Round:
    """Return the round of this seed. At its end all brokers run."""
    random = Random(seed)
    events = tuple(_events(random))
    return Round(seed, events, tuple(_plan(seed * 1_000 + number, events) for number in range(plans)))


def _events(random: Random) -> list[Event]:
    running, paused, dead = set(BROKERS), set[int](), set[int]()
    events: list[Event] = []
    for _ in range(random.choice(_EVENTS)):
        choices: list[tuple[str, int]] = []
        if len(running) > 1 or random.random() < 0.25:
            choices += [(what, broker) for what in ("kill", "kill", "stop", "pause") for broker in sorted(running)]
        choices += [(what, broker) for what in ("resume", "resume", "kill") for broker in sorted(paused)]
        choices += [("start", broker) for broker in sorted(dead) * 2]
        what, broker = random.choice(choices)
        _happen(events, Event(what, broker), running, paused, dead)
        if what == "pause" and random.random() < 0.4:  # a short pause that no other broker notices
            events[-1] = Event("pause", broker, settles=False)
            _happen(events, Event("resume", broker), running, paused, dead)
        elif what in ("kill", "pause") and running and random.random() < 0.3:  # two at once
            events[-1] = Event(what, broker, settles=False)
            other = Event(random.choice(("kill", "stop")), random.choice(sorted(running)))
            _happen(events, other, running, paused, dead)
    rest = [("resume", broker) for broker in sorted(paused)] + [("start", broker) for broker in sorted(dead)]
    random.shuffle(rest)
    for what, broker in rest:
        _happen(events, Event(what, broker), running, paused, dead)
    return events


def _happen(events: list[Event], event: Event, running: set[int], paused: set[int], dead: set[int]) -> None:
    events.append(event)
    for brokers in (running, paused, dead):
        brokers.discard(event.broker)
    {"kill": dead, "stop": dead, "pause": paused, "resume": running, "start": running}[event.what].add(event.broker)


def _plan(seed: int, events: Sequence[Event]) -> Plan:
    random = Random(seed)
    count = random.choice((1, 1, 2))
    factor = random.choice((1, 2, 2, 3, 3, 3, 3))
    replicas = tuple(tuple(random.sample(BROKERS, factor)) for _ in range(count))
    asks = _Asks(random, seed, count)
    fresh, settled = [], []
    for event in events:
        fresh.append(tuple(asks.fresh(event)))
        settled.append(tuple(asks.settled()) if event.settles else ())
    min_isr = random.choice((1, 1, 2, 2, 3))
    unclean = random.random() < 0.25
    return Plan(seed, replicas, min_isr, unclean, asks.before(), tuple(fresh), tuple(settled))


class _Asks:
    def __init__(self, random: Random, seed: int, partitions: int) -> None:
        self._random = random
        self._seed = seed
        self._partitions = partitions
        self._values = 0

    def before(self) -> tuple[Ask, ...]:
        """A record in each partition."""
        return tuple(self._produce(LEADER, 1, 5_000)._replace(partition=index) for index in range(self._partitions))

    def fresh(self, event: Event) -> list[Ask]:
        """Return requests for the time while no broker knows of the event yet."""
        if event.what not in ("kill", "pause"):
            return []
        random = self._random
        asks = [self._fetch() for _ in range(random.choice((0, 1)))]
        for _ in range(random.choice((0, 1, 2))):
            acks = random.choice((-1, -1, 1, 0))
            asks.append(self._produce(self._some_broker(), acks, random.choice((_SHORT_MS, _LONG_MS))))
        if random.random() < 0.3:
            asks.append(self._produce(event.broker, random.choice((-1, 1)), _SHORT_MS))
        return _reads_first(asks)

    def settled(self) -> list[Ask]:
        random = self._random
        asks = []
        for _ in range(random.choice((1, 2, 3))):
            if random.random() < 0.65:
                asks.append(self._produce(self._some_broker(), random.choice((-1, -1, 1, 0)), _SHORT_MS))
            else:
                asks.append(self._fetch())
        if random.random() < 0.3:
            asks.append(self._fetch()._replace(waits=True, wait_ms=_LONG_MS))
        return _reads_first(asks)

    def _some_broker(self) -> int:
        return self._random.choice((LEADER, LEADER, LEADER, *BROKERS))

    def _produce(self, broker: int, acks: int, timeout_ms: int) -> Ask:
        self._values += 1
        value = b"%d-%d" % (self._seed, self._values)
        partition, version = self._random.randrange(self._partitions), self._random.choice(_PRODUCE)
        return Ask(broker, partition, version, acks, timeout_ms, value=value)

    def _fetch(self) -> Ask:
        return Ask(self._some_broker(), self._random.randrange(self._partitions), self._random.choice(_FETCH))


def _reads_first(asks: list[Ask]) -> list[Ask]:
    """Followers, and what is read of them, hear of what was written only within some half a second."""
    return sorted(asks, key=lambda request: request.acks is not None)

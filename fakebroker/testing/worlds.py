"""The worlds that the rules allow: they differ in the order of events within one millisecond.

Theory   If two followers reach the leader in the same millisecond, or a follower and the ISR check coincide, the rules
         set no order. Sometimes the order matters. Then there is one oracle for each order, and those that contradict
         the outcomes are dropped. Followers come before timeouts in any case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product

from fakebroker.testing.messages import ClientFetch, Key, Request, Violation
from fakebroker.testing.oracle import SESSION, Oracle
from fakebroker.testing.oracle_partition import OraclePartition, OracleReplica
from fakebroker.testing.rules.elections import NOBODY
from fakebroker.testing.rules.requests import OracleConnection, OracleParkedRequest


def orders_at(oracle: Oracle, at: int) -> list[list[tuple[tuple[Key, int], ...]]]:
    """Return by partition the possible orders of its events at this time. An event is `(key, follower)`, or `(key,
    NOBODY)` for the ISR check. If all orders are equivalent, return one."""
    orders = []
    read = {waiting.request.key for waiting in oracle.requests.waiting if isinstance(waiting.request, ClientFetch)}
    for key, partition in oracle.partitions.items():
        arriving = [b for b, r in partition.replicas.items() if r.under_way and r.under_way[0][0] <= at]
        events = [(key, broker) for broker in arriving]
        ticks = oracle.next_tick <= at and partition.leader in partition.working
        if not (arriving or ticks):
            continue
        shrinks = ticks and bool(partition.lagging(at))
        if ticks:
            events.append((key, NOBODY))
        # A parked fetch completes at the first of two steps of the high watermark.
        differ = len(events) > 1 and (shrinks or key in read or not partition.isr.issuperset(arriving))
        orders.append(list(permutations(events)) if differ else [tuple(events)])
    return orders


class Worlds:
    """All worlds that no outcome has contradicted yet; usually one."""

    def __init__(self, oracle: Oracle) -> None:
        self.open = [oracle]

    def advance_to(self, at: int) -> None:
        """Apply everything that is due by `at`, each event at its own time."""
        while (due := min(dues := [world.next_due() for world in self.open])) <= at:
            going_on: list[Oracle] = []
            for world, its in zip(self.open, dues, strict=True):
                now = max(due, world.now)
                going_on += _successors(world, now) if its <= now else [world]
            self.open = going_on
        for world in self.open:
            world.now = at

    def handle(self, connection: int) -> Request:
        """Handle the next request of a connection. Drop the worlds in which this is not allowed."""
        if len(self.open) == 1:
            return self.open[0].requests.handle(connection)
        request: Request | None = None
        going_on, problem = [], None
        for world in self.open:
            try:
                request = world.requests.handle(connection)
                going_on.append(world)
            except Violation as violation:
                problem = violation
        if request is None:
            assert problem is not None
            raise problem
        self.open = going_on
        return request

    def keep(self, agrees: Sequence[bool]) -> None:
        self.open = [world for world, agreed in zip(self.open, agrees, strict=True) if agreed]

    def merge(self) -> None:
        """Keep one of several worlds that are equal in everything that matters later."""
        if len(self.open) > 1:
            self.open = list({_signature(world): world for world in self.open}.values())


def _signature(world: Oracle) -> str:
    partitions = [
        (
            key,
            p.leader,
            p.epoch,
            sorted(p.isr),
            sorted(p.elr),
            [(r.known, r.caught_up, r.watermark) for r in p.replicas.values()],
        )
        for key, p in world.partitions.items()
    ]
    return repr(partitions)


def _successors(world: Oracle, at: int) -> Iterator[Oracle]:
    """Return the worlds after the events that are due, one for each possible order."""
    orders = [sum(parts, ()) for parts in product(*orders_at(world, at))]
    ending = [(SESSION, broker) for broker, ends_ms in world.sessions.items() if ends_ms <= at]
    if ending:  # before or after the followers of the same millisecond
        first, last = [(*ending, *order) for order in orders], [(*order, *ending) for order in orders if order]
        orders = first + last
    for order in orders[1:]:
        other = copied(world)
        other.run(at, order)
        yield other
    world.run(at, orders[0])
    yield world


def copied(world: Oracle) -> Oracle:
    """Return an equal, independent world. Immutable parts are shared: requests, batches, outcomes."""
    other = Oracle(world.brokers, world.lag_max_ms, world.session_ms)
    other.alive, other.working = set(world.alive), set(world.working)
    other.states, other.sessions, other.killed = dict(world.states), dict(world.sessions), set(world.killed)
    other.going = set(world.going)
    other.leaving = {broker: set(silent) for broker, silent in world.leaving.items()}
    other.sockets = {broker: list(fetches) for broker, fetches in world.sockets.items()}
    other.now, other.next_tick, other.default_lag = world.now, world.next_tick, world.default_lag
    other.partitions = {key: _copied_partition(partition, other) for key, partition in world.partitions.items()}
    other.all_partitions = list(other.partitions.values())
    requests = world.requests
    other.requests.connections = {number: _copied_connection(one) for number, one in requests.connections.items()}
    other.requests.waiting = [_copied_waiting(waiting) for waiting in requests.waiting]
    other.requests.outcomes = list(requests.outcomes)
    return other


def _copied_partition(partition: OraclePartition, world: Oracle) -> OraclePartition:
    least, unclean, lag_max_ms = partition.min_isr, partition.unclean, partition.lag_max_ms
    other = OraclePartition(list(partition.replicas), world.alive, least, unclean, lag_max_ms, world.working)
    other.replicas = {broker: _copied_replica(replica) for broker, replica in partition.replicas.items()}
    other.leader, other.isr = partition.leader, set(partition.isr)
    other.epoch, other.epoch_start, other.is_begun = partition.epoch, partition.epoch_start, partition.is_begun
    other.elr, other.last_known = set(partition.elr), partition.last_known
    other.had_transactions = partition.had_transactions
    return other


def _copied_replica(replica: OracleReplica) -> OracleReplica:
    other = OracleReplica(replica.lag_ms)
    other.log, other.under_way = list(replica.log), replica.under_way.copy()
    other.end, other.known = replica.end, replica.known
    other.watermark, other.caught_up = replica.watermark, replica.caught_up
    return other


def _copied_connection(connection: OracleConnection) -> OracleConnection:
    other = OracleConnection(connection.broker)
    other.queue = connection.queue.copy()
    other.in_hand, other.is_open = connection.in_hand, connection.is_open
    return other


def _copied_waiting(waiting: OracleParkedRequest) -> OracleParkedRequest:
    other = OracleParkedRequest(waiting.request, waiting.connection, waiting.broker, waiting.deadline)
    other.pending, other.decided = dict(waiting.pending), dict(waiting.decided)
    other.gone, other.is_done = set(waiting.gone), waiting.is_done
    return other

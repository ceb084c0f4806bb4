"""Compaction of logs with transactions: removed records, the time, and responses to readers
(CleanedTransactionMetadata)."""

from __future__ import annotations

from support.asking import ask
from support.requests import produce
from support.simulation import Simulation
from support.transactions import TRANSACTIONAL, end, init, with_coordinator

from fakebroker.core.log.compaction.record_filter import DELETE_HORIZON_FLAG
from fakebroker.core.log.log import Log
from fakebroker.protocol.record_batch import Record, decode_records, encode_batch, read_batch_header

GOES_MS = 60_000


class Writer:
    """A producer of transactions v2 in topic c, which is compacted."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.client = simulation.connect()
        self.producer = init(self.client)[1:]
        self.sequence = 0

    def write(self, key: bytes, value: bytes | None) -> None:
        records = encode_batch(
            [Record(key, value)],
            base_timestamp_ms=self.simulation.now.wall_ms,
            producer_id=self.producer[0],
            producer_epoch=self.producer[1],
            base_sequence=self.sequence,
            attributes=TRANSACTIONAL,
        )
        self.client.send(produce("c", records=records, version=12, transactional_id="tx"))
        self.sequence += 1

    def end(self, committed: bool) -> None:
        code, *_ = ended = end(self.client, self.producer, committed)
        self.producer = ended[1:]
        assert code == 0
        self.sequence = 0

    def transaction(self, key: bytes, value: bytes | None, committed: bool = True) -> None:
        self.write(key, value)
        self.end(committed)


def compacted(brokers: int = 1) -> Simulation:
    simulation = with_coordinator(brokers)
    simulation.topic("c", 1, brokers, cleanup_policy="compact", delete_retention_ms=GOES_MS)
    simulation.settle()
    return simulation


def find_coordinator(simulation: Simulation) -> None:
    """Send the FindCoordinator that creates __transaction_state."""
    ask(simulation.connect(), 10, 4, key_type=1, coordinator_keys=("tx",))
    simulation.settle()


def plain(simulation: Simulation, key: bytes, value: bytes) -> None:
    records = encode_batch([Record(key, value)], base_timestamp_ms=simulation.now.wall_ms)
    simulation.connect().send(produce("c", records=records))


def compact(simulation: Simulation) -> None:
    simulation.cluster.admin.compact("c", simulation.now)
    simulation.cluster.check_invariants()


def log_of(simulation: Simulation, broker: int = 1) -> Log:
    return simulation.partition("c").replicas[broker].log


def stored(simulation: Simulation, broker: int = 1) -> list[tuple[int, object]]:
    """Return for each batch its first offset, and the keys and values of its records, or that it is a marker, or
    empty."""
    described: list[tuple[int, object]] = []
    for batch in log_of(simulation, broker).batches:
        header = read_batch_header(batch.data)
        records = [(record.key, record.value) for record in decode_records(batch.data)]
        waits = bool(header.attributes & DELETE_HORIZON_FLAG)
        what = ("marker that goes" if waits else "marker") if header.is_control and records else records
        described.append((header.base_offset, what))
    return described


def aborted(simulation: Simulation, broker: int = 1) -> list[tuple[int, int]]:
    aborted_ = log_of(simulation, broker).producer_state.transactions.aborted
    return [(transaction.first_offset, transaction.last_offset) for transaction in aborted_]


def test_what_was_aborted_goes_and_supersedes_nothing() -> None:
    simulation = compacted()
    writer = Writer(simulation)
    writer.transaction(b"a", b"1")
    writer.transaction(b"a", b"2", committed=False)
    plain(simulation, b"b", b"1")
    compact(simulation)
    # The marker of the aborted one stays: one of its batches was still there when it was looked at.
    assert stored(simulation) == [(0, [(b"a", b"1")]), (1, "marker"), (3, "marker"), (4, [(b"b", b"1")])]
    assert aborted(simulation) == [(2, 3)]


def test_the_marker_of_an_aborted_one_goes_a_while_after_its_batches() -> None:
    simulation = compacted()
    writer = Writer(simulation)
    writer.transaction(b"a", b"1", committed=False)
    writer.transaction(b"b", b"1")
    plain(simulation, b"c", b"1")
    compact(simulation)
    assert stored(simulation) == [(1, "marker"), (2, [(b"b", b"1")]), (3, "marker"), (4, [(b"c", b"1")])]
    assert aborted(simulation) == [(0, 1)]
    plain(simulation, b"d", b"1")
    compact(simulation)
    rest = [(2, [(b"b", b"1")]), (3, "marker"), (4, [(b"c", b"1")]), (5, [(b"d", b"1")])]
    assert stored(simulation) == [(1, "marker that goes"), *rest]
    assert aborted(simulation) == []
    simulation.advance(GOES_MS)
    compact(simulation)
    assert stored(simulation) == rest


def test_the_marker_of_a_committed_one_goes_a_while_after_what_it_wrote_is_superseded() -> None:
    simulation = compacted()
    writer = Writer(simulation)
    writer.transaction(b"a", b"1")
    writer.transaction(b"a", b"2")
    plain(simulation, b"c", b"1")
    compact(simulation)
    # Its batch is superseded, but was there.
    assert stored(simulation) == [(1, "marker"), (2, [(b"a", b"2")]), (3, "marker"), (4, [(b"c", b"1")])]
    compact(simulation)
    assert stored(simulation)[0] == (1, "marker that goes")
    simulation.advance(GOES_MS)
    compact(simulation)
    assert stored(simulation) == [(2, [(b"a", b"2")]), (3, "marker"), (4, [(b"c", b"1")])]


def test_the_last_marker_of_a_producer_without_batches_is_kept_for_its_epoch() -> None:
    simulation = compacted()
    writer = Writer(simulation)
    writer.transaction(b"a", b"1", committed=False)
    plain(simulation, b"c", b"1")
    for _ in range(2):
        compact(simulation)
        simulation.advance(GOES_MS)
    compact(simulation)
    assert stored(simulation) == [(1, []), (2, [(b"c", b"1")])]


def test_what_is_open_is_not_compacted() -> None:
    simulation = compacted()
    writer = Writer(simulation)
    plain(simulation, b"a", b"1")
    writer.write(b"a", b"2")
    plain(simulation, b"a", b"3")
    compact(simulation)
    assert stored(simulation) == [(0, [(b"a", b"1")]), (1, [(b"a", b"2")]), (2, [(b"a", b"3")])]
    writer.end(committed=True)
    compact(simulation)
    # Kept for its last sequence, if for nothing else.
    assert stored(simulation) == [(2, [(b"a", b"3")]), (3, "marker")]


def test_all_replicas_are_told_the_same() -> None:
    simulation = compacted(brokers=3)
    writer = Writer(simulation)
    for number in range(4):
        writer.transaction(b"%d" % number, b"x", committed=number % 2 == 0)
    for _ in range(2):
        compact(simulation)
        plain(simulation, b"z", b"x")
        simulation.settle()
    assert {broker: stored(simulation, broker) for broker in (1, 2, 3)} == dict.fromkeys(
        (1, 2, 3), stored(simulation, 1)
    )
    assert {broker: aborted(simulation, broker) for broker in (1, 2, 3)} == {1: [], 2: [], 3: []}


def test_a_lagging_follower_takes_over_the_compacted_log_of_the_leader() -> None:
    simulation = compacted(brokers=3)
    simulation.advance(1)
    writer = Writer(simulation)
    writer.transaction(b"a", b"1", committed=False)
    plain(simulation, b"c", b"1")
    [first, *_, last] = sorted((1, 2, 3), key=lambda broker: broker != simulation.partition("c").leader_id)
    simulation.followers("frozen", broker=last)
    plain(simulation, b"d", b"1")
    simulation.advance(60_000)  # it has left the ISR
    for _ in range(2):
        compact(simulation)
        plain(simulation, b"z", b"x")
    assert (aborted(simulation, first), aborted(simulation, last)) == ([], [(0, 1)])
    simulation.followers("instant")
    plain(simulation, b"z", b"y")
    assert stored(simulation, last) == stored(simulation, first)
    assert aborted(simulation, last) == []


def test_the_log_of_transactions_is_compacted_and_tells_the_same_afterwards() -> None:
    simulation = Simulation(brokers=1, config={"transaction.state.log.num.partitions": "1"})
    simulation.topic("c", 1, 1)
    find_coordinator(simulation)
    writer = Writer(simulation)
    for number in range(20):
        writer.transaction(b"%d" % number, b"x")
    log = simulation.partition("__transaction_state").leader_log
    before = len(log.batches)
    simulation.cluster.admin.compact("__transaction_state", simulation.now)
    assert before == 61
    assert len(log.batches) == 1
    service = simulation.cluster.brokers[1].transactions
    known = {entry.transaction.transactional_id: entry.transaction.now for entry in service.states.all()}
    service.on_resignation(0)
    service.on_election(0, simulation.partition("__transaction_state").leader_epoch)
    simulation.settle()
    again = {entry.transaction.transactional_id: entry.transaction.now for entry in service.states.all()}
    assert list(again) == list(known) == ["tx"]
    assert again["tx"] == known["tx"].but(last_producer_epoch=-1)
    writer.transaction(b"z", b"x")

"""Brokers that die within a transaction, and transaction markers that cannot be written.

Deaths   Three brokers have one role each: transaction coordinator, leader of a partition, group coordinator. One is
         killed (SIGKILL, or its equivalent here) while a request or its response is held; it restarts when the input is
         done. The cluster notices its death when its session ends, three seconds later.
Markers  A follower of one partition is paused, and no coordinator needs it. A transaction is committed: its decision is
         written, and the marker of that partition waits for the follower. That takes longer than the 30 s that a
         coordinator gives a broker. Meanwhile the next transaction begins. All this is repeated, and the coordinator is
         killed as soon as the decision is written.
Source   what Kafka 4.4 was seen to do, beside us, by `python -m conformance.clients.exactly_once --kafka`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator

from conformance.clients.exactly_once.brokers import LEADERS, OFFSETS, TRANSACTIONS
from conformance.clients.exactly_once.chain import Chain
from conformance.clients.exactly_once.committed import count_markers, read_values
from conformance.clients.exactly_once.on_target import OnTarget
from conformance.clients.exactly_once.points import REQUESTS, Point
from conformance.clients.exactly_once.proxy import (
    ADD_PARTITIONS_TO_TXN,
    END_TXN,
    PRODUCE,
    TXN_OFFSET_COMMIT,
)
from conformance.scenario import AwaitTransaction
from conformance.transactions.awaited import await_transaction

SILENT_S = 90.0  # a client may well wait for so long
PROGRAM_S = 1_800.0
_SESSION_S = 4.0  # Kafka refuses a broker that comes back before the session of its last life has ended
_BLOCKED_S = 33.0

Strike = tuple[Point, str, Callable[[], object]]

_TRANSACTIONS_AT, _LEADER_AT, _GROUPS_AT = 1, 2, 3
_WHO = {_TRANSACTIONS_AT: LEADERS[0], _GROUPS_AT: LEADERS[1], _LEADER_AT: LEADERS[2]}
_BEFORE_END, _AFTER_END = (
    next(point for point in REQUESTS if point.api_key == END_TXN and point.is_after is after) for after in (False, True)
)


def _after(api_key: int) -> Point:
    return next(point for point in REQUESTS if point.api_key == api_key and point.is_after and not point.aborts)


RESTARTS = (*map(_after, (ADD_PARTITIONS_TO_TXN, PRODUCE, TXN_OFFSET_COMMIT)), _BEFORE_END, _AFTER_END)
_DEATHS = (
    *((_after(ADD_PARTITIONS_TO_TXN), who) for who in (_TRANSACTIONS_AT, _LEADER_AT)),
    *((_after(PRODUCE), who) for who in (_TRANSACTIONS_AT, _LEADER_AT)),
    *((_after(TXN_OFFSET_COMMIT), who) for who in (_TRANSACTIONS_AT, _GROUPS_AT)),
    *((_BEFORE_END, who) for who in (_TRANSACTIONS_AT, _LEADER_AT, _GROUPS_AT)),
    *((_AFTER_END, who) for who in (_TRANSACTIONS_AT, _LEADER_AT, _GROUPS_AT)),
)


def deaths(cluster: OnTarget, chain: Chain) -> Generator[Strike]:
    """Each broker that a transaction needs is killed after it, or the client, has come so far."""
    parts = {
        (TRANSACTIONS, 0): _TRANSACTIONS_AT,
        (OFFSETS, 0): _GROUPS_AT,
        (chain.outputs, 0): _LEADER_AT,
        (chain.outputs, 1): _LEADER_AT,
        (chain.inputs, 0): _LEADER_AT,
    }
    cluster.make_internal_topics()
    for point, who in _DEATHS:
        cluster.balance(parts)
        killed_s: list[float] = []

        def kill(broker: int = who, killed_s: list[float] = killed_s) -> None:
            cluster.brokers[broker].kill()
            killed_s.append(time.monotonic())

        try:
            yield point, f"{_WHO[who]} is killed", kill
        finally:
            if killed_s:
                time.sleep(max(killed_s[0] + _SESSION_S - time.monotonic(), 0))
                cluster.brokers[who].start()
    cluster.balance(parts)


class Markers:
    """Delays of transaction markers. `notes` has the observations at each point, by its name."""

    def __init__(self, cluster: OnTarget, chain: Chain) -> None:
        self._cluster = cluster
        self._chain = chain
        self._late: list[BaseException] = []
        self._paused = self._killed = False
        self.notes: dict[str, str] = {}

    def strikes(self) -> Iterator[Strike]:
        cluster, chain = self._cluster, self._chain
        cluster.make_internal_topics()
        for topic, partition in ((TRANSACTIONS, 0), (OFFSETS, 0), (chain.inputs, 0)):
            cluster.reassign(topic, partition, [1, 2])
        cluster.reassign(chain.outputs, 0, [2, 3])
        cluster.reassign(chain.outputs, 1, [2, 1])
        began_s: list[float] = []

        def pause() -> None:
            self._pause()
            began_s.append(time.monotonic())

        yield _BEFORE_END, "a follower is paused", pause
        self._note("while the follower is paused")

        def resume() -> None:
            time.sleep(max(began_s[0] + _BLOCKED_S - time.monotonic(), 0))
            self.heal()

        thread = self._later(resume)
        yield _BEFORE_END, "the next transaction", lambda: None
        waited_s = time.monotonic() - began_s[0]
        self.notes["the next transaction"] = (
            f"it completed {'after' if waited_s > _BLOCKED_S else 'before'} the follower resumed"
        )
        self._join(thread)
        self._whole()
        self._note("after the follower resumed", with_markers=True)
        threads: list[threading.Thread] = []

        def pause_and_kill() -> None:
            self._pause()
            threads.append(self._later(self._kill_once_decided))

        yield _BEFORE_END, "a follower is paused, and the coordinator is killed", pause_and_kill
        for killing_thread in threads:
            self._join(killing_thread)
        self._whole()
        self._note("after the follower and the coordinator are back")

    def _kill_once_decided(self) -> None:
        cluster = self._cluster
        await_transaction(cluster.target, AwaitTransaction(self._chain.transactional_id, "PrepareCommit", broker=2))
        cluster.brokers[1].kill()
        self._killed = True
        self._note("after the coordinator was killed")
        time.sleep(_SESSION_S)
        self.heal()

    def _pause(self) -> None:
        self._cluster.brokers[3].pause()
        self._paused = True

    def heal(self) -> None:
        """Resume the paused broker, and restart the killed one."""
        if self._paused:
            self._cluster.brokers[3].resume()
        if self._killed:
            self._cluster.brokers[1].start()
        self._paused = self._killed = False

    def _whole(self) -> None:
        self._cluster.balance({(self._chain.outputs, 0): 2, (TRANSACTIONS, 0): 1})

    def _note(self, when: str, *, with_markers: bool = False) -> None:
        """Note the number of records of `out` for read_committed and for read_uncommitted."""
        servers, topic = self._servers(), self._chain.outputs
        committed, everything = (
            {partition: len(values) for partition, values in read.items()}
            for read in (
                read_values(servers, topic, committed=only_committed, to_its_end=False)
                for only_committed in (True, False)
            )
        )
        note = f"read_committed {committed}, read_uncommitted {everything}"
        self.notes[when] = f"{note}, markers {count_markers(servers, topic)}" if with_markers else note

    def _servers(self) -> str:
        """The second broker's: nothing happens to it."""
        return self._cluster.bootstrap_servers.split(",")[1]

    def _later(self, what: Callable[[], object]) -> threading.Thread:
        def run() -> None:
            try:
                what()
            except BaseException as error:  # told when it is joined
                self._late.append(error)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def _join(self, thread: threading.Thread) -> None:
        thread.join()
        if self._late:
            raise self._late[0]

"""The invariants of every run, whatever the clients do: rules about the cluster that need no oracle."""

from __future__ import annotations

from collections.abc import Sequence

from fakebroker.cluster.lives import RUNNING, STOPPING
from fakebroker.core.replication.fetch import FetchParams, FetchPartition
from fakebroker.core.replication.partition import NO_LEADER, Partition
from fakebroker.protocol.record_batch import LOG_OVERHEAD, read_batch_header
from fakebroker.testing import wire
from fakebroker.testing.messages import ClientProduce, Key, RuleErrorCode, Violation
from fakebroker.testing.simulation import Simulation

_READ_ALL = FetchParams(max_wait_ms=0, min_bytes=0, max_bytes=1 << 30, has_client_metadata=True)


class _PartitionHistory:
    """The history of a partition: its high watermark in the current leadership, and the acknowledged batches."""

    def __init__(self) -> None:
        self.epoch = -1
        self.watermark = 0
        self.acknowledged: dict[int, bytes] = {}


class Invariants:
    """The invariants of one simulation. `periodic_tasks` is the number of timers of an idle cluster."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self.periodic_tasks = simulation.cluster.members.timer.timer.size
        self._asked_of: dict[int, dict[Key, tuple[Partition, int] | None]] = {}
        self._partitions: dict[Partition, _PartitionHistory] = {}

    def handled(self, request: ClientProduce) -> None:
        """Record the partitions of a request when the broker handles it, as topics may change later."""
        find = self._simulation.cluster.metadata.find_partition
        by_key = {key: find(*key) for key, _ in request.parts}
        self._asked_of[request.number] = {
            key: None if partition is None else (partition, partition.leader_epoch) for key, partition in by_key.items()
        }

    def answered(self, request: ClientProduce, result: Sequence[wire.PartitionResult]) -> None:
        """Check a response. A record that timed out is in the log, unless the leadership has changed. A record
        acknowledged with acks=all stays in the log."""
        batches = dict(request.parts)
        asked_of = self._asked_of.pop(request.number)
        for key, error, base in result:
            target = asked_of[key]
            if error not in (RuleErrorCode.NONE, RuleErrorCode.TIMED_OUT) or request.acks != -1 or target is None:
                continue
            partition, epoch = target
            if error == RuleErrorCode.TIMED_OUT and partition.leader_epoch != epoch:
                continue
            if partition.config.unclean_leader_election_enable:
                continue
            if not _holds(partition, base, batches[key].ident):
                raise Violation(f"{key} got {error} with base offset {base}, but its log does not have the batch there")
            if error == RuleErrorCode.NONE:
                self._of(partition).acknowledged[base] = batches[key].ident

    def check(self, closely: bool) -> None:
        """Check the invariants after a step. `closely`: also read whole logs."""
        for partition in self._simulation.cluster.metadata.partitions():
            if partition.leader_id == NO_LEADER:
                continue
            self._check_watermark(partition)
            if closely:
                self._check_acknowledged(partition)
                self._check_producers(partition)
                self._check_readable(partition)

    def _of(self, partition: Partition) -> _PartitionHistory:
        seen = self._partitions.get(partition)
        if seen is None:
            seen = self._partitions[partition] = _PartitionHistory()
        return seen

    def _check_watermark(self, partition: Partition) -> None:
        seen, watermark = self._of(partition), partition.high_watermark
        if partition.leader_epoch == seen.epoch and watermark < seen.watermark:
            raise Violation(
                f"the high watermark of {partition.topic_partition} fell from {seen.watermark} to {watermark} within a "
                "leadership"
            )
        seen.epoch, seen.watermark = partition.leader_epoch, watermark
        least = min([partition.replicas[broker].log.log_end_offset for broker in partition.isr])
        if watermark > least:
            raise Violation(
                f"the high watermark of {partition.topic_partition} is {watermark}, but the ISR ends at {least}"
            )

    def _check_acknowledged(self, partition: Partition) -> None:
        if partition.config.unclean_leader_election_enable:
            return
        there = {batch.base_offset: wire.ident(batch.data) for batch in partition.leader_log.batches}
        # A new leader learns the high watermark from the in-sync replicas: one may be paused, or they may be too few.
        # The leader itself may have crashed, undetected.
        followers = partition.isr - {partition.leader_id}
        knows = (
            self._simulation.cluster.lives.state_of(partition.leader_id) in (RUNNING, STOPPING)
            and not partition.is_under_min_isr
            and all(partition.replicas[follower].is_connected for follower in followers)
        )
        for base, batch in self._of(partition).acknowledged.items():
            if there.get(base) != batch or (knows and base >= partition.high_watermark):
                raise Violation(
                    f"{partition.topic_partition}: the batch at {base}, acknowledged with acks=all, is lost"
                )

    def _check_producers(self, partition: Partition) -> None:
        """Check that no batch of an idempotent producer is twice in a log, except after an unclean election, which may
        lose producer state."""
        if partition.config.unclean_leader_election_enable:
            return
        seen: set[tuple[int, int, int]] = set()
        for batch in partition.leader_log.batches:
            header = read_batch_header(batch.data)
            if header.producer_id >= 0 and not header.is_control:
                place = header.producer_id, header.producer_epoch, header.base_sequence
                if place in seen:
                    raise Violation(f"{partition.topic_partition} has the batch {place} of a producer twice")
                seen.add(place)

    def _check_readable(self, partition: Partition) -> None:
        """Check that a consumer reads everything below the high watermark and nothing above it, from each replica."""
        cluster = self._simulation.cluster
        fetch = FetchPartition(partition, 0, 1 << 30)
        for broker in partition.replicas:
            if cluster.lives.is_running(broker):
                [result] = cluster.brokers[broker].replicas.reader.read_from_log(_READ_ALL, [fetch])
                end = _end_of(result.records.join())
                # a replica that cannot reach the leader keeps its watermark: an earlier leader may have had a higher
                # one
                is_beyond = end > partition.high_watermark and partition.replicas[broker].is_connected
                if is_beyond or end != result.high_watermark:
                    raise Violation(
                        f"a consumer of {partition.topic_partition} reads up to {end} from broker {broker}, which says "
                        f"{result.high_watermark}; the watermark is {partition.high_watermark}"
                    )

    def nothing_is_left(self) -> None:
        """Check at the end, without clients, that no operation, timer or connection is left, not even as garbage."""
        cluster = self._simulation.cluster
        for broker_id, broker in cluster.brokers.items():
            for purgatory in (broker.replicas.produce_purgatory, broker.replicas.fetch_purgatory):
                if purgatory.num_delayed():
                    raise Violation(f"{purgatory.num_delayed()} operations stay parked on broker {broker_id}")
                for key in list(purgatory._watchers):
                    purgatory.check_and_complete(key)
                if purgatory.watched():
                    raise Violation(f"broker {broker_id} watches {purgatory.watched()} completed operations")
        for broker_id in cluster.registry.broker_ids:
            if cluster.sockets.connections.last(broker_id) is not None:
                raise Violation(f"a client is still connected to broker {broker_id}")
        if cluster.members.timer.timer.size != self.periodic_tasks:
            raise Violation(f"{cluster.members.timer.timer.size - self.periodic_tasks} timers are left")


def _holds(partition: Partition, base: int, ident: bytes) -> bool:
    if partition.leader_id == NO_LEADER or partition.is_deleted:
        return True  # its leader or its topic has just gone
    batch = next(partition.leader_log.batches_from(base), None)
    return batch is not None and batch.base_offset == base and wire.ident(batch.data) == ident


def _end_of(records: bytes) -> int:
    end = at = 0
    while at < len(records):
        header = read_batch_header(records, at)
        end = header.last_offset + 1
        at += LOG_OVERHEAD + header.batch_length
    return end

"""The progress that followers report to a partition's leader by their fetches, and the ISR that follows from it.

Theory   A follower joins the ISR once it has reached the high watermark and the start of this leadership. It leaves
         when it has been behind for replica.lag.time.max.ms. Both may let the high watermark move.
Units    times are monotonic milliseconds; offsets count records.
Source   core/.../cluster/Partition.scala @ 4.0: updateFollowerFetchState, maybeExpandIsr, isReplicaIsrEligible,
         maybeShrinkIsr.
         How long a change of the ISR takes: core/controller/alter_partition.py.
"""

from __future__ import annotations

from fakebroker.core.replication.partition import NO_LEADER, Partition
from fakebroker.core.replication.replica import UNKNOWN_OFFSET, Replica
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError


def update_follower_fetch_state(
    partition: Partition, replica: Replica, fetch_offset: int, caught_up_time_ms: int, now_ms: int
) -> bool:
    """Record that a modelled follower fetched from `fetch_offset`, so it has all before it. Return True if the high
    watermark moved."""
    previous_offset = replica.log_end_offset
    replica.update_fetch_state(fetch_offset, caught_up_time_ms)
    return _follower_fetched(partition, replica, previous_offset, now_ms)


def update_follower_fetch_state_over_wire(
    partition: Partition, broker_id: int, fetch_offset: int, leader_end_offset: int, now_ms: int, broker_epoch: int
) -> bool:
    """Record a fetch over the wire from an external follower. `leader_end_offset` is that of the read for this fetch.
    Return True if the high watermark moved. Raise NOT_LEADER_OR_FOLLOWER for a fetch from an earlier life of the
    broker."""
    alive_epoch = partition.brokers.alive_broker_epoch(broker_id)
    if broker_epoch != -1 and alive_epoch is not None and alive_epoch > broker_epoch:
        raise KafkaError(
            ErrorCode.not_leader_or_follower,
            f"Received stale fetch state update. broker epoch={broker_epoch} vs expected={alive_epoch}",
        )
    replica = partition.replicas[broker_id]
    previous_offset = replica.log_end_offset
    replica.update_fetch_state_over_wire(fetch_offset, leader_end_offset, now_ms, broker_epoch)
    leader = partition.leader
    replica.truncate_to_leader(leader)
    replica.truncate_to(fetch_offset)
    replica.copy_from(leader, fetch_offset)
    replica.log_start_offset = replica.log.log_start_offset
    return _follower_fetched(partition, replica, previous_offset, now_ms)


def _follower_fetched(partition: Partition, replica: Replica, previous_offset: int, now_ms: int) -> bool:
    expanded = not replica.is_in_sync and maybe_expand_isr(partition, replica)
    changed = expanded or replica.log_end_offset != previous_offset
    moved = changed and partition.maybe_increment_leader_hw(now_ms)
    # The response to the fetch carries the leader's high watermark.
    replica.log.update_high_watermark(partition.high_watermark)
    return moved


def note_last_fetch(partition: Partition, broker_id: int, now_ms: int) -> None:
    """Record that a follower with all records was caught up until now. Its broker or its leader is about to stop or to
    be paused."""
    leader_id = partition.leader_id
    if leader_id == NO_LEADER:
        return
    end_offset = partition.leader_log.log_end_offset
    for follower in partition.followers:
        is_concerned = broker_id in (leader_id, follower.broker_id)
        if is_concerned and follower.log_end_offset == end_offset and follower.fetches_on:
            follower.update_fetch_state(end_offset, now_ms)


def maybe_expand_isr(partition: Partition, replica: Replica) -> bool:
    """Add a follower to the ISR once it has reached the high watermark and the start of this leadership. A leader that
    does not reach the controller cannot ask for it."""
    offset = replica.log_end_offset
    if partition.truth is not None or not partition.leader.broker.is_heard:
        return False
    if offset < partition.high_watermark or offset < partition.leader_epoch_start_offset or not replica.is_isr_eligible:
        return False
    return _alter_isr(partition, {*partition.isr_ids, replica.broker_id})


def _alter_isr(partition: Partition, isr: set[int]) -> bool:
    """Request another ISR from the controller. Return True if it holds at once; a slow controller replies later."""
    if partition.is_isr_in_flight:
        return False
    wanted = [broker_id for broker_id in partition.replicas if broker_id in isr]
    if partition.alter_isr is not None and partition.alter_isr(partition, wanted):
        return False
    partition.change_isr(wanted)
    return True


def maybe_shrink_isr(partition: Partition, now_ms: int) -> bool:
    """Remove followers that have been behind for longer than replica.lag.time.max.ms. Return True if the high watermark
    moved because of it."""
    end_offset = partition.leader_log.log_end_offset
    out_of_sync = {
        replica.broker_id
        for replica in partition.followers
        if replica.is_in_sync and not replica.is_caught_up(end_offset, now_ms, partition.replica_lag_time_max_ms)
    }
    if not out_of_sync or not _alter_isr(partition, partition.isr - out_of_sync):
        return False
    return partition.maybe_increment_leader_hw(now_ms)


def next_out_of_sync_ms(partition: Partition) -> int | None:
    """Return the time at which the next follower of the ISR will have been behind for too long, if nothing happens
    until then; None if none is behind."""
    end_offset = partition.leader_log.log_end_offset
    soonest_ms: int | None = None
    for replica in partition.followers:
        if replica.is_in_sync and replica.log_end_offset != end_offset:
            out_of_sync_ms = replica.last_caught_up_time_ms + partition.replica_lag_time_max_ms + 1
            if soonest_ms is None or out_of_sync_ms < soonest_ms:
                soonest_ms = out_of_sync_ms
    return soonest_ms


def check_invariants(partition: Partition) -> None:
    """Raise AssertionError if the partition, its ISR and its replicas disagree."""
    isr = partition.isr_ids
    assert isr or partition.leader_id == NO_LEADER, "an empty ISR"
    assert not partition.elr or not set(isr).intersection(partition.elr), "a replica is in the ISR and in the ELR"
    assert partition.is_under_min_isr == (len(isr) < partition.effective_min_isr)
    for replica in partition.replicas.values():
        replica.check_invariants()
    if partition.leader_id == NO_LEADER:
        assert not partition.brokers.active(isr), "a broker in the ISR could lead"
        assert isr or not partition.brokers.active(partition.elr), "an eligible broker could lead"
        return
    assert partition.leader_id in isr
    assert partition.leader_id == partition.last_leader.broker_id
    assert len(partition.brokers.active(isr)) == len(isr), "a fenced broker in the ISR"
    end_offset = partition.leader_log.log_end_offset
    latest_epoch = partition.leader.leader_epochs.latest_epoch
    assert latest_epoch == partition.leader_epoch or partition.leader_id in partition.unaware
    for replica in partition.followers:
        assert UNKNOWN_OFFSET <= replica.log_end_offset <= end_offset
        if replica.log_end_offset != UNKNOWN_OFFSET and not replica.is_external:
            # A follower that was external may have gone back to a lower offset, and stays in the ISR. For a
            # disconnected follower the last fetch counts until the next one. That fetch may have named an offset within
            # a batch, or the follower was paused and took a response since.
            was_external, end = replica.was_external, replica.log.log_end_offset
            is_behind = was_external or end > replica.log_end_offset
            assert end == replica.log_end_offset or (is_behind and not replica.is_connected)
            assert not replica.is_in_sync or partition.high_watermark <= replica.log_end_offset or was_external

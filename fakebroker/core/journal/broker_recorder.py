"""The part of the recorder that records events of brokers."""

from __future__ import annotations

from fakebroker.core.journal import broker_events
from fakebroker.core.journal.transaction_recorder import TransactionRecorder
from fakebroker.protocol.topic_partition import TopicPartition


class BrokerRecorder(TransactionRecorder):
    """A recorder of broker events. The journal gets them with the time of the clock."""

    def broker_gone(self, broker_id: int) -> None:
        """Drop the requests in hand at the broker: they get no response."""
        raise NotImplementedError

    def broker_stopping(self, broker_id: int) -> None:
        self._record(broker_events.BrokerStopping, broker_id)

    def broker_stopped(self, broker_id: int) -> None:
        self._record(broker_events.BrokerStopped, broker_id)
        self.broker_gone(broker_id)

    def broker_killed(self, broker_id: int) -> None:
        self._record(broker_events.BrokerKilled, broker_id)
        self.broker_gone(broker_id)

    def broker_paused(self, broker_id: int) -> None:
        self._record(broker_events.BrokerPaused, broker_id)

    def broker_resumed(self, broker_id: int) -> None:
        self._record(broker_events.BrokerResumed, broker_id)

    def metadata_caught_up(self, broker_id: int) -> None:
        self._record(broker_events.MetadataCaughtUp, broker_id)

    def leader_stale(self, topic_partition: TopicPartition, broker_id: int, leader_epoch: int) -> None:
        topic, partition = topic_partition
        self._record(broker_events.LeaderStale, broker_id, topic, partition, leader_epoch)

    def broker_starting(self, broker_id: int) -> None:
        self._record(broker_events.BrokerStarting, broker_id)

    def broker_started(self, broker_id: int) -> None:
        self._record(broker_events.BrokerStarted, broker_id)

    def broker_fenced(self, broker_id: int, broker_epoch: int, reason: str) -> None:
        self._record(broker_events.BrokerFenced, broker_id, broker_epoch, reason)

    def broker_unfenced(self, broker_id: int, broker_epoch: int) -> None:
        self._record(broker_events.BrokerUnfenced, broker_id, broker_epoch)

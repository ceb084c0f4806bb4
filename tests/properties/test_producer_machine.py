"""The sequence numbers of idempotent producers against a model that remembers everything.

The model keeps each producer's whole history as a list of batches and derives every answer from it. Logs are
truncated, lose their beginning and change places, as those of leaders and followers do.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from support.batches import TIME_MS, sequenced

from fakebroker.core.config.topic_config import TopicConfig
from fakebroker.core.log.append import prepare_append
from fakebroker.core.log.log import Log
from fakebroker.core.log.plain_append import PlainRules
from fakebroker.core.log.producer_entry import MAX_SEQUENCE, BatchMetadata
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.plain_batch import is_plain
from fakebroker.protocol.topic_partition import TopicPartition

TP = TopicPartition("t", 0)
CONFIG = TopicConfig()
OUT_OF_ORDER, INVALID_EPOCH = 45, 47
Written = tuple[int, int, int, int, int]  # producer id, epoch, first sequence, records, base offset


class ProducersModel(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.leader, self.follower = Log(), Log()
        # What the producers of each log have written, as far as it must be known.
        self.written: list[Written] = []
        self.replicated: list[Written] = []
        self.start = 0

    def last_of(self, producer: int) -> list[Written]:
        """The last batches of the producer's last epoch, newest first."""
        mine = [batch for batch in reversed(self.written) if batch[0] == producer]
        epoch = mine[0][1] if mine else None
        until = next((place for place, batch in enumerate(mine) if batch[1] != epoch), len(mine))
        return mine[:until]

    def expected(self, producer: int, epoch: int, sequence: int, count: int) -> int | tuple[str, int]:
        known = self.last_of(producer)
        if not known:
            return ("appended", self.leader.log_end_offset)
        for batch in reversed(known[:5]):  # a replica may have the same sequences twice; Kafka takes the older
            if batch[:4] == (producer, epoch, sequence, count):
                return ("duplicate", batch[4])
        _, last_epoch, first, records, _ = known[0]
        if epoch < last_epoch:
            return INVALID_EPOCH
        wanted = 0 if epoch > last_epoch else (first + records) % (MAX_SEQUENCE + 1)
        return ("appended", self.leader.log_end_offset) if sequence == wanted else OUT_OF_ORDER

    @rule(data=st.data(), producer=st.integers(0, 2), count=st.integers(1, 3))
    def produce(self, data: st.DataObject, producer: int, count: int) -> None:
        known = self.last_of(producer)
        last_epoch, following = (known[0][1], (known[0][2] + known[0][3]) % (MAX_SEQUENCE + 1)) if known else (0, 0)
        epoch = max(last_epoch + data.draw(st.sampled_from([0, 0, 0, 0, 1, -1])), 0)
        sequence = data.draw(
            st.sampled_from([following, following, following, 0, MAX_SEQUENCE - 1, following + 1])
            | st.sampled_from([batch[2] for batch in known] or [0])
        )
        sequence = min(sequence, MAX_SEQUENCE)
        batch = sequenced(producer, epoch, sequence, count)
        expected = self.expected(producer, epoch, sequence, count)
        assert self.append(batch) == expected
        if isinstance(expected, tuple) and expected[0] == "appended":
            self.written.append((producer, epoch, sequence, count, expected[1]))

    def append(self, batch: bytes) -> int | tuple[str, int]:
        try:
            prepared = prepare_append(self.leader, batch, is_plain(batch), CONFIG, PlainRules(CONFIG), TP, 0, TIME_MS)
        except KafkaError as error:
            return int(error.code)
        if isinstance(prepared, BatchMetadata):
            return ("duplicate", prepared.first_offset)
        self.leader.append(prepared[0])
        return ("appended", prepared[0].base_offset)

    @rule()
    def replicate(self) -> None:
        end = self.follower.log_end_offset
        self.replicated += [batch for batch in self.written if batch[4] >= end]
        for logged in self.leader.batches_from(end):
            self.follower.append(logged)

    @rule()
    def the_follower_becomes_leader(self) -> None:
        """Elect the follower; the old leader truncates to its log and follows."""
        self.leader, self.follower = self.follower, self.leader
        self.written, self.replicated = self.replicated, self.written
        end = self.leader.log_end_offset
        if self.follower.truncate_to(end):
            # Only what stands in the log is known now.
            self.replicated = [
                batch for batch in self.replicated if batch[4] < end and batch[4] + batch[3] > self.start
            ]

    @precondition(lambda self: self.follower.log_end_offset > self.start)
    @rule(data=st.data())
    def delete_old(self, data: st.DataObject) -> None:
        """Delete replicated records; they still count."""
        offset = data.draw(st.integers(self.start, self.follower.log_end_offset))
        for log in (self.leader, self.follower):
            log.update_high_watermark(self.follower.log_end_offset)
            log.maybe_increment_log_start_offset(offset)
        self.start = self.leader.log_start_offset

    @invariant()
    def logs_are_sound(self) -> None:
        self.leader.check_invariants()
        self.follower.check_invariants()


TestProducersModel = ProducersModel.TestCase

"""A producer id with its epoch, as assigned by a coordinator or a broker.

Source   clients/.../common/utils/ProducerIdAndEpoch.java of 4.3.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from fakebroker.producer.record_batch_builder import NO_PRODUCER_EPOCH, NO_PRODUCER_ID


class ProducerIdAndEpoch(NamedTuple):
    producer_id: int = NO_PRODUCER_ID
    epoch: int = NO_PRODUCER_EPOCH

    @property
    def is_valid(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID


NONE: Final = ProducerIdAndEpoch()
MAX_EPOCH: Final = 2**15 - 1

"""The offsets of the fields in a record batch of magic 2: the one table that all code for batches uses.

`fakebroker.protocol.declarations` has the executable declaration; tests/protocol/test_batch_layout.py ties the two
together.

Units    offsets and sizes are bytes, from the start of the batch.
Source   clients/src/main/java/org/apache/kafka/common/record/DefaultRecordBatch.java; Records.java
"""

from __future__ import annotations

from struct import Struct
from typing import Final

BASE_OFFSET_AT: Final = 0  # i64
LENGTH_AT: Final = 8  # i32; counts the bytes behind it
LOG_OVERHEAD: Final = 12  # Base offset and length; the length does not count them
LEADER_EPOCH_AT: Final = 12  # i32
MAGIC_AT: Final = 16  # i8; at the same offset in every magic
CRC_AT: Final = 17  # u32; covers everything from the attributes on
ATTRIBUTES_AT: Final = 21  # i16
FLAGS_AT: Final = 22  # the lower byte of the attributes; it has all flags
LAST_OFFSET_DELTA_AT: Final = 23  # i32
BASE_TIMESTAMP_AT: Final = 27  # i64
MAX_TIMESTAMP_AT: Final = 35  # i64
PRODUCER_ID_AT: Final = 43  # i64
PRODUCER_EPOCH_AT: Final = 51  # i16
BASE_SEQUENCE_AT: Final = 53  # i32
RECORD_COUNT_AT: Final = 57  # i32
RECORD_BATCH_OVERHEAD: Final = 61  # then the records

# All fields, in their order.
HEADER: Final = Struct(">qiibIhiqqqhii")

# The flags in the lower byte of the attributes.
COMPRESSION_MASK: Final = 0x07
TIMESTAMP_TYPE_FLAG: Final = 0x08
TRANSACTIONAL_FLAG: Final = 0x10
CONTROL_FLAG: Final = 0x20

"""Random request streams for Hypothesis: good requests, odd ones, and frames damaged on the way.

Theory   Values come from small sets, so that they meet: a producer id, an epoch and a sequence that occur twice are a
         duplicate, a gap or a fence. Each kind of oddness is rare by itself. Otherwise the first check would refuse
         every request, and later checks would never be reached.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from conformance import frames
from conformance.frames import TIMESTAMP_MS, batch_of, with_crc
from conformance.generated.config_strategies import alter_configs, describe_configs, incremental_alter_configs
from conformance.generated.harmless import missing_bytes, refusal
from conformance.generated.streams import KINDS, STAND_IN, Group, Stream
from conformance.scenario import placeholder
from fakebroker.protocol.record_batch import RECORD_BATCH_OVERHEAD, Record

_ID = placeholder(STAND_IN)
_FAR_FUTURE_MS = 4_102_444_800_000
_MAX_FILLING = 4_096  # bytes that complete a frame with a damaged length


@st.composite
def streams(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Stream:
    """Streams of 1 to 8 requests on one or two connections. A frame that is damaged ends its connection's life in the
    stream, since Kafka will mostly have closed it."""
    kind = draw(st.sampled_from(["plain"] * len(KINDS) + sorted(KINDS)))
    number = 0
    made: list[Request] = []
    lives = {"a": 0, "b": 0}
    groups = []
    for _ in range(draw(st.sampled_from([1, 2, 3, 4, 4]))):
        letter = draw(st.sampled_from("aaab"))
        parts: list[bytes] = []
        damaged = False
        for _ in range(draw(st.sampled_from([1, 1, 2]))):
            number += 1
            again = made and draw(_RARELY)  # a client that tries again
            made.append(draw(st.sampled_from(made) if again else _REQUESTS))
            parts.append(made[-1](number))
        if draw(_RARELY):  # what comes after it waits until it holds
            number += 1
            groups.append(Group(f"{letter}{lives[letter]}", (draw(_ALTERATIONS)(number),)))
        if draw(_RARELY):
            place = draw(st.integers(0, len(parts) - 1))
            parts[place] = draw(_DAMAGE)(parts[place])
            damaged = True
        lacking = missing_bytes(b"".join(parts))
        if 0 < lacking <= _MAX_FILLING:
            parts.append(bytes(lacking))
        if refusal(b"".join(parts)) is None:
            groups.append(Group(f"{letter}{lives[letter]}", tuple(parts)))
            lives[letter] += damaged
    return Stream(kind, tuple(groups))


_RARELY = st.sampled_from([False] * 5 + [True])
_VERY_RARELY = st.sampled_from([False] * 19 + [True])

# --- Records and batches ---------------------------------------------------------------------------------------------

_KEYS = st.sampled_from([b"k", None, b"", b"key" * 5])
_VALUES = st.sampled_from([b"v", None, b"", b"value" * 30]) | st.binary(max_size=8)
_HEADERS = st.sampled_from([(), (), (("h", b"1"),), (("h", None), ("", b"2"))])
_TIMES = st.sampled_from([None] * 20 + [TIMESTAMP_MS + 5, TIMESTAMP_MS + 9, TIMESTAMP_MS - 5, -1, 0, _FAR_FUTURE_MS])
_DELTAS = st.sampled_from([None] * 40 + [0, 1, 2, -1, 2**31 - 1])
_RECORD = st.builds(Record, _KEYS, _VALUES, _HEADERS, _TIMES, _DELTAS)
_RECORDS = st.sampled_from([1, 1, 1, 1, 2, 2, 3, 4]).flatmap(lambda n: st.lists(_RECORD, min_size=n, max_size=n))
_CODECS = st.sampled_from([0, 0, 0, 1, 2, 3, 4])
_SEQUENCES = st.sampled_from([0] * 6 + [1] * 6 + [2, 2, 2, 3, 3, 2**31 - 1, -1])
_PRODUCERS = st.fixed_dictionaries(
    {
        "producer_id": st.sampled_from([7] * 12 + [8, 8, -2]),
        "producer_epoch": st.sampled_from([0] * 12 + [1, 1, 1, 2, -1]),
        "base_sequence": _SEQUENCES,
    }
)
_COUNTS = st.sampled_from([-1, 0, 1, 2, 3, 5, 2**31 - 1, -(2**31)])
_ODD_FIELDS = st.one_of(
    st.fixed_dictionaries({"base_offset": st.sampled_from([1, -1, 2**62])}),
    st.fixed_dictionaries({"partition_leader_epoch": st.sampled_from([0, 5, 2**31 - 1])}),
    st.fixed_dictionaries({"magic": st.sampled_from([0, 1, 3, -1])}),
    st.fixed_dictionaries({"attributes": st.sampled_from([0x08, 0x10, 0x20, 0x30, 0x40, 0x80, 5, 6, 7, 0x100])}),
    st.fixed_dictionaries({"last_offset_delta": _COUNTS}),
    st.fixed_dictionaries({"record_count": _COUNTS}),
    st.fixed_dictionaries({"record_count": _COUNTS, "last_offset_delta": _COUNTS}),
    st.fixed_dictionaries({"base_timestamp_ms": st.sampled_from([0, -1, 2**63 - 1, _FAR_FUTURE_MS])}),
    st.fixed_dictionaries({"max_timestamp_ms": st.sampled_from([0, -1, 2**63 - 1, TIMESTAMP_MS + 9])}),
    st.fixed_dictionaries({"base_sequence": _SEQUENCES}),
    st.fixed_dictionaries({"producer_epoch": st.sampled_from([0, 1, 2**15 - 1])}),
)
_SHORT = st.binary(min_size=1, max_size=3)


@st.composite
def batches(draw: Callable[[st.SearchStrategy[Any]], Any]) -> bytes:
    """A batch of magic 2, mostly good."""
    header: dict[str, Any] = {}
    if draw(st.booleans()):
        header |= draw(_PRODUCERS)
    if draw(_VERY_RARELY) or draw(_VERY_RARELY):
        header |= draw(_ODD_FIELDS)
    records = draw(_RECORDS)
    codec = draw(_CODECS)
    body = None
    if draw(_VERY_RARELY):
        body = _changed(batch_of(records)[RECORD_BATCH_OVERHEAD:], draw(_CHANGES))
    made = batch_of(records, codec, draw(st.sampled_from([TIMESTAMP_MS] * 9 + [-1])), body=body, **header)
    if draw(_VERY_RARELY):
        made = _changed(made, draw(_CHANGES))
        if draw(st.booleans()) and len(made) > RECORD_BATCH_OVERHEAD:
            made = with_crc(made[:8] + struct.pack(">i", len(made) - 12) + made[12:])
    return made


def _message(magic: int, key: bytes | None, value: bytes | None) -> bytes:
    """A message set of one message as before 0.11."""
    body = struct.pack(">bb", magic, 0) + (struct.pack(">q", TIMESTAMP_MS) if magic else b"")
    for part in (key, value):
        body += struct.pack(">i", -1 if part is None else len(part)) + (part or b"")
    return struct.pack(">qiI", 0, len(body) + 4, zlib.crc32(body)) + body


_OLD = st.builds(_message, st.sampled_from([0, 1]), _KEYS, _VALUES)
_RECORD_SETS: st.SearchStrategy[bytes] = st.sampled_from(
    [batches()] * 30 + [_OLD, st.just(b""), st.lists(batches() | _OLD, min_size=2, max_size=2).map(b"".join)]
).flatmap(lambda chosen: chosen)

# --- Damage ----------------------------------------------------------------------------------------------------------

# A change: what is done, where (taken modulo the length), and with what.
_CHANGES = st.tuples(st.sampled_from(["flip", "flip", "set", "insert", "cut", "end"]), st.integers(0, 399), _SHORT)


def _changed(data: bytes, change: tuple[str, int, bytes]) -> bytes:
    kind, place, with_ = change
    at = place % max(len(data), 1)
    match kind:
        case "flip":
            return data[:at] + bytes([data[at] ^ with_[0]]) + data[at + 1 :] if data else data
        case "set":
            return data[:at] + with_ + data[at + len(with_) :]
        case "insert":
            return data[:at] + with_ + data[at:]
        case "cut":
            return data[:at] + data[at + len(with_) :]
    return data[:at]


@st.composite
def _frame_damage(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Callable[[bytes], bytes]:
    """Damage within a frame, its length set right again: otherwise most damage would be about the length."""
    change = draw(_CHANGES)

    def damage(frame: bytes) -> bytes:
        inside = _changed(frame[4:], change)
        return struct.pack(">i", len(inside)) + inside

    return damage


@st.composite
def _length_damage(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Callable[[bytes], bytes]:
    by = draw(st.sampled_from([-1, 1, -4, 3, 50, -40]) | st.integers(-200, 200))
    return lambda frame: struct.pack(">i", struct.unpack_from(">i", frame)[0] + by) + frame[4:]


_HEADER_DAMAGE = st.one_of(
    _length_damage(),
    st.sampled_from([-1, -(2**31), 2**31 - 1, 0]).map(lambda n: lambda frame: struct.pack(">i", n) + frame[4:]),
    st.sampled_from([-1, 1000, -32768]).map(lambda key: lambda frame: frame[:4] + struct.pack(">h", key) + frame[6:]),
    st.sampled_from([-1, 99, 32767]).map(lambda v: lambda frame: frame[:6] + struct.pack(">h", v) + frame[8:]),
)
_DAMAGE: st.SearchStrategy[Callable[[bytes], bytes]] = st.sampled_from(
    [_frame_damage()] * 3 + [_HEADER_DAMAGE]
).flatmap(lambda chosen: chosen)

# --- Requests: each strategy gives a function of the correlation id --------------------------------------------------

Request = Callable[[int], bytes]

_PARTITIONS = st.sampled_from([0] * 20 + [1] * 10 + [2, -1])
_NAMES = st.sampled_from([STAND_IN] * 60 + ["no-such-topic", "", "a b", "__consumer_offsets"])
_TOPIC_IDS = st.sampled_from([_ID] * 20 + [UUID(int=0), UUID(int=99)])
_CLIENT_IDS = st.sampled_from(["conformance"] * 6 + [None, "", "é", "__admin_client"])
_EPOCHS = st.sampled_from([-1] * 6 + [0] * 6 + [1, -2])
_ISOLATION = st.sampled_from([0] * 8 + [1] * 6 + [2, -1])


@st.composite
def _produce(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Request:
    version = draw(st.integers(3, 13))
    topics = []
    for _ in range(draw(st.sampled_from([1] * 9 + [0, 2]))):
        parts = st.lists(st.tuples(_PARTITIONS, _RECORD_SETS), min_size=1, max_size=2)
        data = [{"index": index, "records": records} for index, records in draw(parts)]
        topics.append({"name": draw(_NAMES), "topic_id": draw(_TOPIC_IDS), "partition_data": data})
    values = {
        "transactional_id": draw(st.sampled_from([None] * 9 + ["tx"])),
        "acks": draw(st.sampled_from([-1] * 6 + [1] * 6 + [0, 0, 2, -2])),
        "timeout": timedelta(milliseconds=draw(st.sampled_from([5000, 5000, 0, -1, 1, 2**31 - 1]))),
        "topic_data": topics,
    }
    client_id = draw(_CLIENT_IDS)
    return lambda number: frames.request(frames.PRODUCE, version, values, number, client_id)


@st.composite
def _fetch(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Request:
    version = draw(st.integers(4, 18))
    limits = st.sampled_from([1 << 20, 1 << 20, 0, 1, 100, 2**31 - 1])
    parts = [
        {
            "partition": draw(_PARTITIONS),
            "current_leader_epoch": draw(_EPOCHS),
            "fetch_offset": draw(st.sampled_from([0, 0, 0, 1, 2, 3, -1, 2**40])),
            "last_fetched_epoch": draw(st.sampled_from([-1, -1, -1, 0, 1])),
            "log_start_offset": draw(st.sampled_from([-1, -1, 0])),
            "partition_max_bytes": draw(limits),
        }
        for _ in range(draw(st.sampled_from([1, 1, 1, 2])))
    ]
    topic = {"topic": draw(_NAMES), "topic_id": draw(_TOPIC_IDS), "partitions": parts}
    values = {
        "replica_id": -1,
        "max_wait": timedelta(milliseconds=draw(st.sampled_from([0, 0, 1, 20]))),
        "min_bytes": draw(st.sampled_from([0, 1, 1, 100, -1])),
        "max_bytes": draw(limits),
        "isolation_level": draw(_ISOLATION),
        "session_id": draw(st.sampled_from([0] * 9 + [5])),
        "session_epoch": draw(st.sampled_from([-1] * 9 + [0, 0, 1])),
        "topics": [topic],
        "forgotten_topics_data": [],
        "rack_id": "",
    }
    return lambda number: frames.request(frames.FETCH, version, values, number)


@st.composite
def _list_offsets(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Request:
    version = draw(st.integers(1, 11))
    times = st.sampled_from([-1, -2, -3, -4, -5, -6, -7, 0, TIMESTAMP_MS, TIMESTAMP_MS + 5, TIMESTAMP_MS + 6, 2**62])
    parts = [
        {"partition_index": draw(_PARTITIONS), "current_leader_epoch": draw(_EPOCHS), "timestamp": draw(times)}
        for _ in range(draw(st.sampled_from([1, 1, 2])))
    ]
    values = {
        "replica_id": draw(st.sampled_from([-1, -1, -1, -2])),
        "isolation_level": draw(_ISOLATION),
        "topics": [{"name": draw(_NAMES), "partitions": parts}],
        "timeout": timedelta(seconds=1),
    }
    return lambda number: frames.request(frames.LIST_OFFSETS, version, values, number)


@st.composite
def _metadata(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Request:
    version = draw(st.integers(0, 13))
    flags = {
        "allow_auto_topic_creation": draw(st.booleans()),
        "include_cluster_authorized_operations": draw(st.booleans()),
        "include_topic_authorized_operations": draw(st.booleans()),
    }
    by_id = version >= 12 and draw(st.booleans())
    topics: list[str | UUID] = draw(st.lists(_TOPIC_IDS if by_id else _NAMES, min_size=1, max_size=2))
    return lambda number: frames.metadata(topics, version, number, **flags)


@st.composite
def _api_versions(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Request:
    version = draw(st.integers(0, 4))
    words = st.sampled_from(["test", "1.0", "", "-x", "é", "a b"])
    name, software_version = draw(words), draw(words)
    return lambda number: frames.api_versions(version, number, name, software_version)


@st.composite
def _init_producer_id(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Request:
    version = draw(st.integers(0, 5))
    values = {
        "producer_id": draw(st.sampled_from([-1, -1, 0, 7])),
        "producer_epoch": draw(st.sampled_from([-1, -1, 0, 3])),
        "transaction_timeout": timedelta(milliseconds=draw(st.sampled_from([60_000, 0, -1]))),
    }
    return lambda number: frames.init_producer_id(version=version, correlation_id=number, **values)


@st.composite
def _offset_for_leader_epoch(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Request:
    version = draw(st.integers(2, 4))
    parts = [
        {"partition": draw(_PARTITIONS), "current_leader_epoch": draw(_EPOCHS), "leader_epoch": draw(_EPOCHS)}
        for _ in range(draw(st.sampled_from([1, 1, 2])))
    ]
    values = {
        "replica_id": draw(st.sampled_from([-1, -1, -2])),
        "topics": [{"topic": draw(_NAMES), "partitions": parts}],
    }
    return lambda number: frames.request(frames.OFFSET_FOR_LEADER_EPOCH, version, values, number)


_REQUESTS: st.SearchStrategy[Request] = st.sampled_from(
    [_produce()] * 12
    + [_fetch()] * 2
    + [_list_offsets(), _metadata(), _api_versions(), _init_producer_id(), _offset_for_leader_epoch()]
    + [describe_configs()] * 2
).flatmap(lambda chosen: chosen)
_ALTERATIONS: st.SearchStrategy[Request] = st.sampled_from(
    [incremental_alter_configs(), incremental_alter_configs(), alter_configs()]
).flatmap(lambda chosen: chosen)

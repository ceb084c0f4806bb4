"""Bytes that are no request: sizes, headers and bodies that cannot be, and frames in odd pieces."""

from __future__ import annotations

import struct

from conformance.frames import (
    API_VERSIONS,
    CLIENT_ID,
    CREATE_TOPICS,
    DELETE_TOPICS,
    METADATA,
    PRODUCE,
    api_versions,
    batch,
    metadata,
    produce,
    request,
)
from conformance.scenario import Case, Listen, ReadLog, Send, Settle, Step, Topic

_LISTEN_MS = 150
_GOOD = metadata([], 1, correlation_id=100)


def _framed(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def _header(client_id: bytes | None, api_key: int, version: int, tags: bytes = b"", size: int | None = None) -> bytes:
    """Header v1, or v2 with `tags`; `size` lies about the client id."""
    length = (-1 if client_id is None else len(client_id)) if size is None else size
    return struct.pack(">hhih", api_key, version, 1, length) + (client_id or b"") + tags


def _case(name: str, why: str, *steps: Step, topics: tuple[Topic, ...] = ()) -> Case:
    return Case(f"frames/{name}", why, steps, topics)


def _answered(name: str, why: str, *frames: bytes) -> Case:
    return _case(name, why, Send(frames), Settle())


def _swallowed(name: str, why: str, *frames: bytes) -> Case:
    """Return a case in which a frame never ends and swallows the frames behind it."""
    return _case(name, why, Send(frames), Listen(_LISTEN_MS))


_METADATA_V1 = struct.pack(">i", 0)  # no topics
_METADATA_V12 = b"\x01\x00\x00\x00"  # no topics, two flags, no tags
_V12 = metadata([], 12)[4:]
_NO_NAME = Topic("frames-utf8")
_SPLIT = Topic("frames-split")
_TRAILING = Topic("frames-trailing")

CASES = [
    _answered(
        "size-negative",
        "a negative frame size: the connection is closed at once (NetworkReceive)",
        _GOOD,
        struct.pack(">i", -1),
    ),
    _answered(
        "size-smallest", "the lowest frame size: the connection is closed at once", struct.pack(">i", -(1 << 31))
    ),
    _answered("size-zero", "an empty frame has no header", _GOOD, struct.pack(">i", 0)),
    _swallowed(
        "size-limit", "a frame size of 100 MiB: the broker waits for the bytes", _GOOD, struct.pack(">i", 104857600)
    ),
    _answered(
        "size-over-limit",
        "a frame size of one byte more: the connection is closed at once",
        _GOOD,
        struct.pack(">i", 104857601),
    ),
    _answered(
        "size-largest", "a frame size of 2 GiB - 1: the connection is closed at once", struct.pack(">i", (1 << 31) - 1)
    ),
    _answered(
        "http",
        "an HTTP request: its first bytes are a frame size of 1.2 GB",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ),
    _answered(
        "tls-hello",
        "a TLS ClientHello: its first bytes are too large a frame size",
        bytes.fromhex("16030100a5010000a10303") + b"\0" * 160,
    ),
    *(
        _answered(f"header-of-{size}-bytes", "a header that ends too early", _GOOD, _framed(_V12[:size]))
        for size in (1, 2, 4, 7, 8, 9)
    ),
    _answered(
        "client-id-null",
        "a null client id is the same as an empty one",
        _framed(_header(None, METADATA, 1) + _METADATA_V1),
    ),
    _answered("client-id-empty", "an empty client id", _framed(_header(b"", METADATA, 1) + _METADATA_V1)),
    _answered(
        "client-id-long", "a client id of 32,767 bytes", _framed(_header(b"c" * 32767, METADATA, 1) + _METADATA_V1)
    ),
    _answered("client-id-overruns", "a client id longer than the frame", _framed(_header(b"c", METADATA, 1, size=500))),
    _answered(
        "client-id-minus-2", "a client id of length -2", _framed(_header(None, METADATA, 1, size=-2) + _METADATA_V1)
    ),
    _answered(
        "client-id-no-utf8",
        "a client id that is not valid UTF-8",
        _framed(_header(b"\xff\xfe", METADATA, 1) + _METADATA_V1),
    ),
    _answered(
        "client-id-null-flexible",
        "a null client id in header v2",
        _framed(_header(None, METADATA, 12, b"\0") + _METADATA_V12),
    ),
    _answered(
        "header-tags",
        "unknown tagged fields of the header are skipped",
        _framed(_header(b"c", METADATA, 12, b"\x02\x07\x03abc\x64\x00") + _METADATA_V12),
    ),
    _answered(
        "header-tags-out-of-order",
        "tags that are not in ascending order",
        _framed(_header(b"c", METADATA, 12, b"\x02\x64\x00\x07\x03abc") + _METADATA_V12),
    ),
    _answered(
        "header-tag-overruns",
        "a tagged field longer than the frame",
        _framed(_header(b"c", METADATA, 12, b"\x01\x07\x7fabc") + _METADATA_V12),
    ),
    _answered("header-tags-missing", "header v2 without tagged fields", _framed(_header(b"c", METADATA, 12))),
    _answered(
        "body-tags",
        "unknown tagged fields of the body are skipped",
        _framed(_header(b"c", METADATA, 12, b"\0") + _METADATA_V12[:-1] + b"\x01\x20\x02xy"),
    ),
    _answered("body-empty", "a header without a body", _framed(_header(b"c", METADATA, 1))),
    _answered("body-truncated", "a truncated body", _GOOD, _framed(_V12[:-2])),
    _answered("body-trailing", "bytes after the body are ignored", _framed(_V12 + b"behind"), _GOOD),
    _answered("produce-truncated", "a truncated Produce", _GOOD, _framed(produce("frames-none")[4:-7])),
    _answered(
        "array-too-long",
        "an array length above the number of bytes",
        _framed(_header(b"c", METADATA, 1) + struct.pack(">i", 1 << 30)),
    ),
    _answered(
        "array-minus-2",
        "an array of length -2 that is not nullable",
        _framed(_header(b"c", METADATA, 0) + struct.pack(">i", -2)),
        _GOOD,
    ),
    _answered(
        "array-null",
        "null for an array that is not nullable",
        _framed(_header(b"c", PRODUCE, 7) + struct.pack(">hhii", -1, -1, 1000, -1)),
    ),
    _answered(
        "array-null-flexible",
        "null for an array that is not nullable, in a flexible version",
        _framed(_header(b"c", PRODUCE, 9, b"\0") + b"\0" + struct.pack(">hi", -1, 1000) + b"\0\0"),
    ),
    _answered(
        "string-null",
        "null for a name that is not nullable",
        _framed(_header(b"c", METADATA, 1) + struct.pack(">ih", 1, -1)),
    ),
    _answered(
        "string-minus-2",
        "a name of length -2",
        _framed(_header(b"c", METADATA, 1) + struct.pack(">ih", 1, -2)),
    ),
    _answered(
        "string-overruns",
        "a name longer than the frame",
        _framed(_header(b"c", METADATA, 1) + struct.pack(">ih", 1, 300) + b"abc"),
    ),
    _answered(
        "boolean-2",
        "a boolean that is neither 0 nor 1",
        _framed(_header(b"c", METADATA, 4) + struct.pack(">ib", 0, 2)),
    ),
    _answered(
        "varint-without-end",
        "a compact length of six bytes",
        _framed(_header(b"c", METADATA, 12, b"\0") + b"\xff" * 6 + b"\0" * 4),
    ),
    _answered(
        "varint-above-32-bits",
        "a compact length with bits above the lowest 32",
        _framed(_header(b"c", METADATA, 12, b"\0") + b"\x81\x80\x80\x80\x70" + _METADATA_V12[1:]),
    ),
    _answered(
        "compact-array-negative",
        "a compact length that is a negative int is null, which the topics of CreateTopics may not be",
        _framed(_header(b"c", CREATE_TOPICS, 7, b"\0") + b"\xff\xff\xff\xff\x0f" + b"\0" * 6),
        _GOOD,
    ),
    _answered(
        "compact-array-null",
        "a compact length that is a negative int, in DeleteTopics",
        _framed(_header(b"c", DELETE_TOPICS, 4, b"\0") + b"\xff\xff\xff\xff\x0f" + b"\0" * 6),
        _GOOD,
    ),
    _answered(
        "compact-string-no-utf8",
        "a name that is not valid UTF-8, and a valid one after it",
        _framed(_header(b"c", METADATA, 9, b"\0") + b"\x03\x04a\xffb\0\x03\xc3\x28\0\0\0\0\0"),
    ),
    _answered(
        "tag-count-negative",
        "a negative number of tagged fields counts as 0",
        _framed(_header(b"c", METADATA, 12, b"\0") + _METADATA_V12[:-1] + b"\xff\xff\xff\xff\x0f"),
    ),
    _answered(
        "tag-size-negative",
        "a tagged field of negative size",
        _GOOD,
        _framed(_header(b"c", METADATA, 12, b"\0") + _METADATA_V12[:-1] + b"\x01\x20\xff\xff\xff\xff\x0f"),
    ),
    _answered(
        "transactional-id-minus-2",
        "a nullable string of length -2 is null",
        _framed(_header(b"c", PRODUCE, 7) + struct.pack(">hhii", -2, -1, 1000, 0)),
    ),
    _answered("garbage", "random bytes", _GOOD, _framed(bytes(range(7, 250, 3)))),
    _answered("zeros", "a frame of zeros is Produce v0", _framed(b"\0" * 40)),
    _answered(
        "topic-no-utf8",
        "a topic name that is not valid UTF-8 is looked up as decoded",
        _framed(_header(CLIENT_ID.encode(), METADATA, 1) + struct.pack(">ih", 1, 3) + b"a\xffb"),
        _GOOD,
    ),
    _case(
        "produce-topic-no-utf8",
        "a topic name in Produce that is not valid UTF-8",
        Send(
            (
                _framed(
                    _header(CLIENT_ID.encode(), PRODUCE, 7)
                    + struct.pack(">hhiih", -1, -1, 1000, 1, 3)
                    + b"a\xffb"
                    + struct.pack(">iii", 1, 0, len(batch()))
                    + batch()
                ),
            )
        ),
        Settle(),
    ),
    _case(
        "two-in-one-segment",
        "frames that arrive together get their responses in order",
        Send((produce(_NO_NAME.name, batch(b"1")), produce(_NO_NAME.name, batch(b"2"), correlation_id=2), _GOOD)),
        Settle(),
        ReadLog(_NO_NAME.name),
        topics=(_NO_NAME,),
    ),
    _case(
        "split-into-bytes",
        "a frame that arrives byte by byte",
        *(Send((bytes([byte]),)) for byte in produce(_SPLIT.name, batch(b"split"))),
        Settle(),
        ReadLog(_SPLIT.name),
        topics=(_SPLIT,),
    ),
    _case(
        "produce-trailing",
        "bytes after the body of Produce are ignored",
        Send((_framed(produce(_TRAILING.name, batch(b"v"))[4:] + b"\0\1\2"),)),
        Settle(),
        ReadLog(_TRAILING.name),
        topics=(_TRAILING,),
    ),
    _case(
        "half-a-frame-behind",
        "an incomplete frame does not delay the frames before it",
        Send((_GOOD, metadata([])[:9])),
        Listen(_LISTEN_MS),
    ),
    _case(
        "good-behind-bad",
        "a frame after an invalid frame gets no response",
        Send((_GOOD, _framed(b"\x7f\xff\0\0\0\0\0\1\0\0"), api_versions(0, correlation_id=101))),
        Settle(),
    ),
    _answered(
        "api-versions-v3-empty-body",
        "ApiVersions v3 without the software name and version",
        _framed(_header(b"c", API_VERSIONS, 3, b"\0")),
    ),
    _answered(
        "api-versions-v3-old-header",
        "ApiVersions v3 in the layout of v0",
        _framed(_header(b"c", API_VERSIONS, 3)),
        _GOOD,
    ),
    _answered(
        "correlation-ids", "any correlation id is returned", *(request(18, 0, {}, n) for n in (0, -1, -(1 << 31)))
    ),
]

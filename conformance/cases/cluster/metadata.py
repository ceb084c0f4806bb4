"""Metadata at every version, by name and by id, for topics that are there, that are not, and that cannot be."""

from __future__ import annotations

import struct
from uuid import UUID

from conformance.frames import CLIENT_ID, METADATA, metadata
from conformance.scenario import Case, CatchUp, DeleteTopic, Send, Settle, Topic

_ZERO, _NOBODY = UUID(int=0), UUID(int=0x4321)


def _case(name: str, why: str, *frames: bytes, topics: tuple[Topic, ...] = (), box: str = "one") -> Case:
    return Case(f"metadata/{name}", why, (Send(frames), Settle()), topics, box)


def _v(version: int) -> Case:
    topics = (Topic(f"metadata-v{version}-a", 3), Topic(f"metadata-v{version}-b"))
    first, second = (topic.name for topic in topics)
    requested_topics: list[list[str | UUID]] = [
        [first],
        [second, first],
        ["metadata-nobody"],
        [first, "metadata-nobody", second],
        ["a/b"],
        [first, first],
    ]
    if version:
        requested_topics.append([])
    flags = [
        {"include_topic_authorized_operations": True, "include_cluster_authorized_operations": cluster}
        for cluster in (False, True)
    ]
    frames = [metadata(names, version, number) for number, names in enumerate(requested_topics, 1)]
    frames += [metadata([first], version, number, **flag) for number, flag in enumerate(flags, 20)]
    return _case(
        f"v{version}",
        "one topic, two, an unknown one, all kinds, an invalid name, one twice, none; with authorized operations",
        *frames,
        topics=topics,
    )


def _raw(version: int, body: bytes, correlation_id: int = 1) -> bytes:
    client_id = CLIENT_ID.encode()
    head = struct.pack(">hhih", METADATA, version, correlation_id, len(client_id)) + client_id
    data = head + (b"\0" if version >= 9 else b"") + body
    return struct.pack(">i", len(data)) + data


_ALL = (Topic("metadata-all-a", 2), Topic("metadata-all-b"), Topic("metadata-all-c"))  # the only topics of their box
_IDS = Topic("metadata-ids", 2)
_GONE = Topic("metadata-gone")
_REPLICAS = Topic("metadata-replicas", 2, 3)
_NAMED = Topic("metadata-named")

CASES: list[Case] = [
    *(_v(version) for version in range(14)),
    _case(
        "all",
        "null requests all topics, in v0 an empty list does; any negative length is null",
        *(metadata([] if version == 0 else None, version, version) for version in range(14)),
        _raw(1, struct.pack(">i", -2), 20),  # lengths below -1 are null as well
        _raw(12, b"\xff\xff\xff\xff\x0f\0\0\0", 21),
        topics=_ALL,
        box="alone",
    ),
    *(
        _case(
            f"bad-name-{what}",
            "invalid names: INVALID_TOPIC_EXCEPTION, in every version that has it (Topic.validate)",
            metadata([name], 1),
            metadata([name], 12, 2),
        )
        for what, name in {
            "empty": "",
            "dot": ".",
            "dots": "..",
            "slash": "a/b",
            "space": "a b",
            "249": "x" * 249,
            "250": "x" * 250,
            "umlaut": "\u00e4",
            "colon": "a:b",
            "nul": "\0",
            "underscore-and-dot": "a_b.c",
            "internal": "__transaction_state",
        }.items()
    ),
    *(
        _case(
            f"creation-allowed-v{version}",
            "auto.create.topics.enable=false: no topic is created, even if the request allows it",
            metadata([f"metadata-not-made-{version}"], version, 1, allow_auto_topic_creation=True),
            metadata([f"metadata-not-made-{version}"], version, 2, allow_auto_topic_creation=True),
        )
        for version in (3, 4, 12)
    ),
    *(
        _case(
            f"ids-v{version}",
            "topics by id: known, unknown, the zero id, one twice",
            metadata([_IDS.placeholder] if topics else [_NOBODY], version),
            metadata([_NOBODY], version, 2),
            metadata([_NOBODY, UUID(int=9)], version, 3),
            *((metadata([_IDS.placeholder, _NOBODY, _IDS.placeholder], version, 4),) if topics else ()),
            topics=topics,
        )
        for version, topics in ((12, (_IDS,)), (13, (Topic("metadata-ids-v13"),)))
    ),
    _case(
        "id-and-name",
        "if one topic is requested by id, names are ignored",
        metadata([_NAMED.name, _NOBODY], 12),
        metadata([_NAMED.placeholder, "metadata-nobody"], 12, 2),
        topics=(_NAMED,),
    ),
    _case("id-of-zeros", "a topic with neither name nor id", metadata([_ZERO], 12)),
    *(
        _case(
            f"id-in-v{version}",
            "the layout has ids from v10 on, and requests may use them from v12 on",
            metadata([_NOBODY], version),
            metadata([], version, 2),
        )
        for version in (10, 11)
    ),
    _case(
        "null-name-v10",
        "a topic with neither name nor id, before v12",
        _raw(10, b"\x02" + b"\0" * 16 + b"\0\0\0\0\0\0"),
        metadata([], 1, 2),
    ),
    Case(
        "metadata/deleted",
        "a deleted topic is unknown, by name and by id",
        (
            DeleteTopic(_GONE.name),
            CatchUp(),
            Send((metadata([_GONE.name], 12), metadata([_GONE.placeholder], 12, 2))),
            Settle(),
        ),
        (_GONE,),
    ),
    _case(
        "replicas",
        "three replicas, the leader and the ISR, in every layout",
        *(metadata([_REPLICAS.name], version, version) for version in range(14)),
        topics=(_REPLICAS,),
        box="three",
    ),
]

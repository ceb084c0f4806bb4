"""CreateTopics and DeleteTopics: names, numbers, assignments, settings."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from conformance.frames import DELETE_TOPICS, create_topics, delete_topics, metadata, request
from conformance.scenario import Case, CatchUp, Send, Settle, Topic


def _case(name: str, why: str, *frames: bytes, topics: tuple[Topic, ...] = (), box: str = "one") -> Case:
    """The last frame may ask for the metadata that came of the others."""
    return Case(name, why, (Send(frames[:-1]), Settle(), CatchUp(), Send(frames[-1:]), Settle()), topics, box)


def _new(name: str, partitions: int = 1, replicas: int = 1, **values: Any) -> dict[str, Any]:
    return {"name": name, "num_partitions": partitions, "replication_factor": replicas} | values


def _assigned(name: str, *assignments: tuple[int, list[int]], **values: Any) -> dict[str, Any]:
    entries = [{"partition_index": index, "broker_ids": ids} for index, ids in assignments]
    return _new(name, -1, -1, assignments=entries) | values


def _configured(name: str, **configs: str | None) -> dict[str, Any]:
    entries = [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()]
    return _new(name, configs=entries)


def _create(name: str, why: str, *topics: dict[str, Any], box: str = "one", version: int = 7, **flags: Any) -> Case:
    """Create the topics, and describe those with a name that can be requested."""
    names: list[str | UUID] = sorted({topic["name"] for topic in topics})
    return _case(
        f"create/{name}",
        why,
        create_topics(list(topics), version=version, **flags),
        metadata(names, 9, 2),
        box=box,
    )


_BAD_NAMES = {
    "empty": "",
    "dot": ".",
    "dots": "..",
    "slash": "a/b",
    "250": "x" * 250,
    "umlaut": "\u00e4",
    "space": "a b",
    "metadata": "__cluster_metadata",
}

_CONFIGS: dict[str, dict[str, str | None]] = {
    "unknown": {"no_such_config": "1"},
    "no-number": {"max_message_bytes": "many"},
    "out-of-range": {"max_message_bytes": "-1"},
    "too-large": {"max_message_bytes": "99999999999"},
    "null": {"max_message_bytes": None},
    "empty": {"max_message_bytes": ""},
    "spaces": {"max_message_bytes": " 1000 "},
    "no-boolean": {"preallocate": "perhaps"},
    "boolean": {"preallocate": "TRUE"},
    "no-choice": {"compression_type": "brotli"},
    "no-policy": {"cleanup_policy": "shred"},
    "two-policies": {"cleanup_policy": "compact,delete"},
    "append-time": {"message_timestamp_type": "LogAppendTime"},
    "no-time-type": {"message_timestamp_type": "logappendtime"},
    "isr-0": {"min_insync_replicas": "0"},
    "isr-9": {"min_insync_replicas": "9"},
    "lag": {"min_compaction_lag_ms": "100", "max_compaction_lag_ms": "50"},
    "ratio": {"min_cleanable_dirty_ratio": "1.5"},
    "good": {"retention_ms": "1000", "segment_bytes": "1048576", "compression_type": "zstd"},
    "segment": {"segment_bytes": "13"},
    "segment-small": {"segment_bytes": "1000000"},
    "retention": {"retention_ms": "-2"},
    "decompressed-0": {"max_decompressed_message_bytes": "0"},
    "copy-lag": {"remote_copy_lag_bytes": "-2"},
    "copy-lag-ms": {"remote_copy_lag_ms": "x"},
    "dead-letters": {"errors_deadletterqueue_group_enable": "1"},
    "two-bad": {"max_message_bytes": "-1", "min_insync_replicas": "0"},
}

_EXISTING = Topic("create-existing")
_COLLIDES = Topic("create-collides.a")
_DELETED = (Topic("delete-a"), Topic("delete-b", 2))
_TWICE = Topic("delete-twice")
_BY_ID = (Topic("delete-id-a"), Topic("delete-id-b"), Topic("delete-id-c"))
_BOTH = (Topic("delete-both-a"), Topic("delete-both-b"))


def _delete_v6(topics: list[tuple[str | None, UUID | None]], correlation_id: int = 1) -> bytes:
    values = {
        "topics": [{"name": name, "topic_id": topic_id} for name, topic_id in topics],
        "timeout": timedelta(seconds=30),
    }
    return request(DELETE_TOPICS, 6, values, correlation_id)


def _versions() -> list[Case]:
    cases = []
    for version in range(2, 8):
        good, checked = f"create-v{version}", f"create-v{version}-checked"
        cases.append(
            _case(
                f"create/v{version}",
                "created, created again, validateOnly, an invalid name, no partitions, too many replicas, defaults",
                create_topics([_new(good, 2)], version=version),
                create_topics([_new(good, 2)], version=version, correlation_id=2),
                create_topics([_new(checked)], version=version, correlation_id=3, validate_only=True),
                create_topics([_new("a/b"), _new(f"{checked}-2", 0)], version=version, correlation_id=4),
                create_topics([_new(f"{checked}-3", 1, 2)], version=version, correlation_id=5),
                create_topics([_new(f"{checked}-4", -1, -1)], version=version, correlation_id=6, validate_only=True),
                metadata([good, checked], 9, 7),
            )
        )
    for version in range(1, 6):
        topic = Topic(f"delete-v{version}")
        cases.append(
            _case(
                f"delete/v{version}",
                "deleted, deleted again, unknown, twice",
                delete_topics([topic.name], version=version),
                delete_topics([topic.name, "delete-nobody"], version=version, correlation_id=2),
                delete_topics(["delete-nobody", "delete-nobody"], version=version, correlation_id=3),
                delete_topics([], version=version, correlation_id=4),
                topics=(topic,),
            )
        )
    return cases


CASES: list[Case] = [
    *_versions(),
    *(
        _create(f"name-{what}", "an invalid name: INVALID_TOPIC_EXCEPTION", _new(name))
        for what, name in _BAD_NAMES.items()
    ),
    _create("name-249", "the longest name", _new("y" * 249)),
    _create("internal", "the name of an internal topic is allowed", _new("__share_group_state")),
    *(
        _create(f"partitions-{count}", "valid and invalid numbers of partitions", _new(f"create-p{count}", count))
        for count in (0, -1, -2)
    ),
    _create("partitions-many", "more partitions than one request may create", _new("create-many", 10_001)),
    *(
        _create(
            f"records-{what}",
            f"one request may write 10,000 records to the metadata log, and this one writes {1 + 1 + partitions + 2}"
            " (QuorumController.MAX_RECORDS_PER_USER_OP)",
            _configured(f"create-records-{what}", retention_ms="1") | {"num_partitions": partitions},
            _new(f"create-records-{what}-2"),
            _new("a/b", 100),
            validate_only=True,
        )
        for what, partitions in (("enough", 9_996), ("many", 9_997))
    ),
    *(
        _create(f"replicas-{count}", "valid and invalid replication factors", _new(f"create-r{count}", 1, count))
        for count in (0, -1, -2, 2)
    ),
    _create("replicas-three", "more replicas than brokers", _new("create-three", 1, 4), box="three"),
    *(
        _create(
            f"config-{what}",
            "valid and invalid settings (LogConfig.validate)",
            _configured(f"create-config-{what}", **configs),
        )
        for what, configs in _CONFIGS.items()
    ),
    _create(
        "config-twice",
        "one setting twice: the last one counts",
        _new("create-config-twice", configs=[{"name": "retention.ms", "value": value} for value in ("1", "2")]),
    ),
    _create(
        "duplicate",
        "one name twice in one request: INVALID_REQUEST",
        _new("create-dup"),
        _new("create-dup"),
        _new("create-single"),
    ),
    _create(
        "several",
        "each topic gets its own result",
        _new("create-s1"),
        _new("a/b"),
        _new("create-s2", 0),
        _new("create-s3", 2),
    ),
    _case(
        "create/existing",
        "an existing topic: TOPIC_ALREADY_EXISTS",
        create_topics([_new(_EXISTING.name)]),
        create_topics([_new(_EXISTING.name)], correlation_id=2, validate_only=True),
        create_topics([_new(_EXISTING.name, 0)], correlation_id=3),
        topics=(_EXISTING,),
    ),
    _case(
        "create/collides",
        "a name that differs only in . and _: INVALID_TOPIC_EXCEPTION",
        create_topics([_new("create-collides_a")]),
        create_topics([_new("create-new.x"), _new("create-new_x")], correlation_id=2),
        topics=(_COLLIDES,),
    ),
    *(
        _create(f"assigned-{what}", "manual assignments", topic, box="three")
        for what, topic in {
            "good": _assigned("create-a-good", (0, [2, 3]), (1, [3, 1])),
            "out-of-order": _assigned("create-a-order", (1, [2]), (0, [1])),
            "gap": _assigned("create-a-gap", (0, [1]), (2, [1])),
            "from-1": _assigned("create-a-from-1", (1, [1])),
            "negative": _assigned("create-a-negative", (-1, [1])),
            "same-partition": _assigned("create-a-same", (0, [1]), (0, [2])),
            "unknown-broker": _assigned("create-a-unknown", (0, [1, 9])),
            "negative-broker": _assigned("create-a-minus", (0, [-1])),
            "same-broker": _assigned("create-a-dup", (0, [1, 1])),
            "no-brokers": _assigned("create-a-none", (0, [])),
            "lengths": _assigned("create-a-lengths", (0, [1, 2]), (1, [1])),
            "and-partitions": _assigned("create-a-count", (0, [1])) | {"num_partitions": 1},
            "and-replicas": _assigned("create-a-factor", (0, [1])) | {"replication_factor": 1},
        }.items()
    ),
    _case("create/nothing", "a request without topics", create_topics([])),
    _case(
        "delete/some",
        "each topic gets its own result, and is removed from the metadata",
        delete_topics([_DELETED[0].name, "delete-nobody", _DELETED[1].name, "a/b", ""]),
        metadata([topic.name for topic in _DELETED], 9, 2),
        topics=_DELETED,
    ),
    _case(
        "delete/twice",
        "one name twice in one request: INVALID_REQUEST, and the topic stays",
        delete_topics([_TWICE.name, _TWICE.name]),
        metadata([_TWICE.name], 9, 2),
        topics=(_TWICE,),
    ),
    _case(
        "delete/by-id",
        "v6 deletes by name or by id",
        _delete_v6([(None, _BY_ID[0].placeholder), (_BY_ID[1].name, None)]),
        _delete_v6([(None, _BY_ID[0].placeholder)], 2),
        _delete_v6([(None, UUID(int=77))], 3),
        _delete_v6([(None, _BY_ID[2].placeholder), (None, _BY_ID[2].placeholder)], 4),
        _delete_v6([(None, None)], 5),
        _delete_v6([("delete-nobody", None)], 6),
        topics=_BY_ID,
    ),
    _case(
        "delete/name-and-id",
        "both name and id for one topic: INVALID_REQUEST; the same topic by name and by id: INVALID_REQUEST",
        _delete_v6([(_BOTH[0].name, _BOTH[0].placeholder)]),
        _delete_v6([(_BOTH[1].name, None), (None, _BOTH[1].placeholder)], 2),
        topics=_BOTH,
    ),
]

"""Quotas of what is fetched, and of partitions that are made and deleted (KIP-599)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from conformance.frames import batch, end_offset, fetch, produce, request
from conformance.scenario import At, Case, Pause, Send, SetQuota, Settle, Step, Topic

_APPLIED_MS = 250  # until a quota that was set holds at the broker
_AT_ONCE_MS = 450  # less than the mute, and enough for a busy machine
_SLACK_MS = 1_000

_RATE = 2_000.0  # bytes per second; what is judged by ten windows of a second
_RECORD_BYTES = 21_000  # takes half a second more than those

_CREATE, _DELETE, _PARTITIONS = 19, 20, 37
_MUTATIONS = 4.0  # partitions per second: 44 may be taken at once
_MANY = 46  # two more: half a second


def _fetched(name: str, why: str, version: int, *sizes: int, at_ms: int = 0, **values: Any) -> Case:
    topic = Topic(f"quota-fetch-{name}")
    name_or_id = topic.placeholder if version >= 13 else topic.name
    frames = (
        fetch(name_or_id, version=version, correlation_id=2, client_id=topic.name, **values),
        end_offset(topic.name, correlation_id=3),
    )
    steps = (
        SetQuota(topic.name, {"consumer_byte_rate": _RATE}),
        Send(tuple(produce(topic.name, batch(b"x" * size)) for size in sizes)),
        Settle(),
        Pause(_APPLIED_MS),
        Send(frames),
        Settle(),
    )
    timed = (At(2, 0, _AT_ONCE_MS), At(3, at_ms, _SLACK_MS if at_ms else _AT_ONCE_MS))
    return Case(f"quota/fetch-{name}", why, steps, (topic,), timed=timed)


def _topics(key: int, version: int, client: str, number: int, *topics: dict[str, Any], **values: Any) -> bytes:
    defaults = {"topics": topics, "timeout": timedelta(seconds=30), "validate_only": False}
    return request(key, version, defaults | values, number, client)


def _new(name: str, partitions: int) -> dict[str, Any]:
    return {"name": name, "num_partitions": partitions, "replication_factor": 1, "assignments": (), "configs": ()}


def _create(version: int, client: str, number: int, *topics: tuple[str, int], **values: Any) -> bytes:
    return _topics(_CREATE, version, client, number, *(_new(*topic) for topic in topics), **values)


def _more(version: int, client: str, number: int, *topics: tuple[str, int], **values: Any) -> bytes:
    requested_topics = ({"name": name, "count": count, "assignments": None} for name, count in topics)
    return _topics(_PARTITIONS, version, client, number, *requested_topics, **values)


def _delete(version: int, client: str, number: int, *names: str) -> bytes:
    values = {"topics": [{"name": name, "topic_id": None} for name in names], "topic_names": names}
    return request(_DELETE, version, values | {"timeout": timedelta(seconds=30)}, number, client)


def _mutated(
    name: str,
    why: str,
    *frames: bytes,
    before: tuple[bytes, ...] = (),
    after: tuple[str, ...] = (),
    rate: float = _MUTATIONS,
) -> Case:
    steps: tuple[Step, ...] = (SetQuota(f"mutation-{name}", {"controller_mutation_rate": rate}),)
    if before:
        steps += Send(before, "admin"), Settle("admin")
    steps += (Pause(_APPLIED_MS),)
    for frame in frames:
        steps += Send((frame,)), Settle()
    if after:
        steps += Pause(_APPLIED_MS), Send((_delete(4, "admin", 99, *after),), "admin"), Settle("admin")
    return Case(f"quota-mutation/{name}", f"{why} (ControllerMutationQuotaManager)", steps)


def _create_and_again(version: int) -> Case:
    client = f"mutation-create-v{version}"
    many, one, last = f"{client}-many", f"{client}-one", f"{client}-last"
    return _mutated(
        f"create-v{version}",
        "more mutations than tokens; then one more, which v6 and later refuse, and earlier versions mute",
        _create(version, client, 1, (many, _MANY)),
        _create(version, client, 2, (one, 1)),
        _create(version, client, 3, (last, 1)),
        after=(many, one, last),
    )


def _more_and_again(version: int) -> Case:
    client = f"mutation-more-v{version}"
    many, one = f"{client}-many", f"{client}-one"
    return _mutated(
        f"more-v{version}",
        "more added partitions than tokens; then one more, which v3 and later refuse",
        _more(version, client, 1, (many, 1 + _MANY)),
        _more(version, client, 2, (one, 2)),
        before=(_create(5, "admin", 90, (many, 1), (one, 1)),),
        after=(many, one),
    )


def _delete_and_again(version: int) -> Case:
    client = f"mutation-delete-v{version}"
    many, one = f"{client}-many", f"{client}-one"
    return _mutated(
        f"delete-v{version}",
        "more deleted topics than tokens; then one more, which v5 and later refuse",
        _delete(version, client, 1, many),
        _delete(version, client, 2, one),
        _delete(version, client, 3, f"{client}-nowhere"),
        before=(_create(5, "admin", 90, (many, _MANY), (one, 1)),),
        after=(one,),
    )


def _next_to_nothing(name: str, version: int, rate: float) -> Case:
    client = f"mutation-{name}-v{version}"
    return _mutated(
        f"{name}-v{version}",
        "a wait above the range of a long in milliseconds becomes -1: the response has no throttle time, and "
        "there is no mute",
        _create(version, client, 1, (f"{client}-1", 1)),
        _create(version, client, 2, (f"{client}-2", 1)),
        after=(f"{client}-1", f"{client}-2"),
        rate=rate,
    )


CASES: list[Case] = [
    *(
        _fetched(
            f"v{version}",
            "above the quota: an empty response at once, and a mute for the bytes of the withheld response",
            version,
            _RECORD_BYTES,
            at_ms=500,
        )
        for version in (4, 6, 7, 11, 12, 13, 18)
    ),
    _fetched("below", "a response below the quota is not throttled", 12, 1_000),
    _fetched(
        "session",
        "a withheld response does not start a session",
        12,
        _RECORD_BYTES,
        at_ms=500,
        session_epoch=0,
    ),
    _fetched(
        "many",
        "one response has at most the bytes of a whole quota window, which is slightly too much with its headers",
        12,
        9_000,
        9_000,
        9_000,
    ),
    _fetched("max-bytes", "the client's max_bytes is below the quota", 12, 9_000, 9_000, 9_000, max_bytes=10_000),
    *(_create_and_again(version) for version in (5, 6, 7)),
    *(_next_to_nothing("tiny", version, 1e-300) for version in (5, 7)),
    _next_to_nothing("least", 7, 5e-324),
    *(_more_and_again(version) for version in (2, 3)),
    *(_delete_and_again(version) for version in (4, 5)),
    _mutated(
        "several",
        "each topic of a request is counted by itself",
        _create(
            7,
            "mutation-several",
            1,
            ("mutation-several-1", 40),
            ("mutation-several-2", 10),
            ("mutation-several-3", 1),
        ),
        after=("mutation-several-1", "mutation-several-2"),
    ),
    _mutated(
        "validate",
        "validateOnly counts; a mutation that is refused for another reason does not",
        _create(7, "mutation-validate", 1, ("mutation-validate-0", -3), ("bad name", _MANY)),
        _create(7, "mutation-validate", 2, ("mutation-validate-1", _MANY), validate_only=True),
        _create(7, "mutation-validate", 3, ("mutation-validate-2", 1), validate_only=True),
    ),
]

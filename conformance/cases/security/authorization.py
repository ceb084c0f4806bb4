"""Requests of a client that may not do what it asks for: each API, at each place of an error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from conformance.consumer_group_frames import describe
from conformance.frames import metadata, request
from conformance.group_frames import describe_groups
from conformance.offset_frames import offset_fetch
from conformance.scenario import AwaitCoordinator, AwaitTransaction, Case, ReadLog, Step, Topic
from conformance.security.acl_steps import acl_case, admin
from conformance.security.denied_requests import DENIED, EACH, ENDS, ID, THERE, Denied, known_fields
from conformance.transactions.frames import describe_transactions
from fakebroker.apis import registry

_PRODUCE = 0

# What the harness asks afterwards, by API: nothing was done.
_LOOKS: dict[int, bytes] = {
    **dict.fromkeys((8, 28), offset_fetch({"acl-group": None})),
    **dict.fromkeys((11, 12, 13, 14), describe_groups(["acl-group"])),
    19: metadata(["acl-never-created"]),
    **dict.fromkeys((22, 24, 26), describe_transactions("acl-transaction")),
    68: describe("acl-consumers"),
}


def _versions(denied: Denied) -> Sequence[int]:
    api = registry.load()[denied.api_key]
    if denied.versions == ENDS:
        return sorted({api.min_version, api.max_version})
    if denied.versions == EACH:
        return range(api.min_version, api.max_version + 1)
    assert not isinstance(denied.versions, str)
    return denied.versions


def _case(denied: Denied, version: int) -> Case:
    what = f"{denied.what}-v{version}"
    topic = Topic(f"acl-{what}")
    shared = known_fields(denied)
    values = _with_topic(shared, topic)
    grants = denied.grants.replace(THERE, topic.name)
    frame = request(denied.api_key, version, values)
    why = (
        f"permissions: {denied.grants or 'none'}; the same errors as in KafkaApis or ControllerApis, in the same places"
    )
    topics = (topic,) if values != shared else ()
    looks: tuple[Step, ...] = (ReadLog(topic.name),) if denied.api_key == _PRODUCE else ()
    if denied.api_key in _LOOKS:
        looks = admin(_LOOKS[denied.api_key])
    name = f"authorization/{what}"
    return acl_case(name, why, frame, grants=grants, topics=topics, before=_loaded(denied), after=looks)


def _loaded(denied: Denied) -> tuple[Step, ...]:
    """Return the steps that wait for the coordinators that the request comes to."""
    steps: tuple[Step, ...] = ()
    looks = denied.api_key in _LOOKS
    if "GROUP" in denied.grants or denied.what == "list-groups" or looks:
        steps += (AwaitCoordinator("acl-group"),)
    if "TRANSACTIONAL_ID" in denied.grants or "transactions" in denied.what or looks:
        steps += (AwaitTransaction("acl-transaction"),)
    return steps


def _with_topic(value: Any, topic: Topic) -> Any:
    """Return the value with the topic of this case in place of the one of the tables."""
    if isinstance(value, dict):
        return {name: _with_topic(item, topic) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_with_topic(item, topic) for item in value)
    return topic.name if value == THERE else topic.placeholder if value == ID else value


CASES: list[Case] = [_case(denied, version) for denied in DENIED for version in _versions(denied)]

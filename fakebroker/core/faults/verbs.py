"""The reading of actions, by their verbs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, Final

from fakebroker.core.faults import byte_actions as _adds_its_verbs  # noqa: F401
from fakebroker.core.faults import reading
from fakebroker.core.faults.actions import VERBS, Action, Error
from fakebroker.protocol.error_code import ErrorCode

ALIASES: Final[dict[str, Any]] = {  # names in other tools: kfake, krafka, librdkafka's mock, toxiproxy
    "reset": {"disconnect": "reset"},
    "reset_peer": {"disconnect": "reset"},
    "latency": "delay",
    "rtt": "delay",
    "silence": "drop",
    "timeout": "blackhole",
    "half_open": "blackhole",
    "limit_data": "cut",
    "corrupt_records": "corrupt_batch",
    "freeze_followers": "freeze",
    "lag_followers": "lag",
}


def read_actions(value: object) -> tuple[Action, ...]:
    """Read one action, or a list of them in order. Raise ValueError."""
    if isinstance(value, list | tuple):
        if not value:
            raise ValueError("'do' is an empty list: give an action")
        return tuple(map(read_action, value))
    return (read_action(value),)


def read_action(value: object) -> Action:
    """Read a verb, the name or number of an error, or {verb: value}; an Action is returned unchanged. Raise
    ValueError."""
    if isinstance(value, Action):
        return value
    if isinstance(value, ErrorCode) or (isinstance(value, int) and not isinstance(value, bool)):
        return Error(value)  # type: ignore[arg-type]
    if isinstance(value, str):
        return _from_word(value)
    given = reading.mapping(value, "an action of 'do'")
    if len(given) != 1:
        raise ValueError(
            f"an action has one verb, as in {{'delay': 100}}: {reading.shown(dict(given))} has {len(given)}"
        )
    [(verb, said)] = given.items()
    alias = ALIASES.get(verb, verb)
    kind = VERBS.get(alias) if isinstance(alias, str) else None
    if kind is None:
        raise ValueError(f"'do' has no verb {reading.shown(verb)}{reading.meant(verb, VERBS)}")
    return _from_members(kind, said)


def _from_word(word: str) -> Action:
    alias = ALIASES.get(word, word)
    if not isinstance(alias, str):
        return read_action(alias)
    kind = VERBS.get(alias)
    if kind is not None:
        return _make(kind, {})
    if word.upper() == word or word.upper().lower() in {code.name for code in ErrorCode}:
        return Error(word)
    raise ValueError(f"'do' has no verb {reading.shown(word)}, and Kafka has no such error{reading.meant(word, VERBS)}")


def _from_members(kind: type[Action], said: object) -> Action:
    if isinstance(said, Mapping):
        members = dict(reading.mapping(said, f"the value of {kind.verb!r}"))
        reading.refuse_unknown(members, [field.name for field in fields(kind)], f"{kind.verb!r}")
        return _make(kind, members)
    if said is None or said is True:  # YAML's `hold:` and JSON's {"hold": true}
        return _make(kind, {})
    if not kind.main:
        raise ValueError(f"{kind.verb!r} takes no value, not {reading.shown(said)}")
    return _make(kind, {kind.main: said})


def _make(kind: type[Action], members: dict[str, Any]) -> Action:
    for field in fields(kind):
        if field.default is MISSING and field.name not in members:
            raise ValueError(f"{kind.verb!r} needs its '{field.name}', as in {{{kind.verb!r}: {_example(field.name)}}}")
    return kind(**members)


def _example(name: str) -> str:
    return "100" if name == "ms" else "'NOT_ENOUGH_REPLICAS'"

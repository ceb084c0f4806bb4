"""The rules for valid faults. Kafka does not have each error at each point, and some faults could never match or fire.
These are refused, with the reason.

Errors   ValueError, one sentence: what is impossible, why, and what is possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fakebroker.core.broker_registry import ids_in_words
from fakebroker.core.faults.actions import Action, ClusterAction, Error, MoveCoordinator, PartitionAction
from fakebroker.core.faults.byte_actions import ByteAction, CorruptBatch
from fakebroker.core.faults.points import (
    AFTER_ANSWER,
    AFTER_APPEND,
    AFTER_WATERMARK,
    AFTER_WORK,
    BEFORE_ANSWER,
    BEFORE_WORK,
    CONNECT,
    REQUEST_READ,
    WITHIN_ANSWER,
)
from fakebroker.core.faults.table import ACKS_ALL, ANYWHERE, WATERMARK, Errors, api_keys, table
from fakebroker.core.faults.when import When
from fakebroker.protocol.messages import versions

SASL_HANDSHAKE: Final = "SaslHandshake"
SASL_AUTHENTICATE: Final = "SaslAuthenticate"
_OF_REQUESTS: Final = ("api", "versions", "client_id", "principal", "mechanism", "acks")  # unknown at `connect`
_WITH_ANSWER: Final = (*AFTER_WORK, WITHIN_ANSWER, AFTER_ANSWER)


def usual_point(when: When, do: Sequence[Action]) -> str:
    """Return the default point of these actions, which is that of the first kind found: bytes, errors, the others."""
    if any(isinstance(action, ByteAction) for action in do):
        return WITHIN_ANSWER
    for action in do:
        if isinstance(action, Error):
            return _usual_point_of_error(action, when)
    return BEFORE_ANSWER if any(action.usual_point == BEFORE_ANSWER for action in do) else BEFORE_WORK


def _usual_point_of_error(error: Error, when: When) -> str:
    names = when.api or tuple(table())
    before = [error.error in table()[name].before for name in names]
    if all(before) if when.api else any(before):
        return BEFORE_WORK
    if when.api == ("Produce",) and error.error in table()["Produce"].after:
        return AFTER_WATERMARK if error.error in WATERMARK else AFTER_APPEND
    if any(error.error in table()[name].after for name in names):
        return BEFORE_ANSWER
    return BEFORE_WORK


def can_answer(errors: Errors, error: str, at: str) -> bool:
    """Return True if an API has that error at that point."""
    if at in (REQUEST_READ, BEFORE_WORK):
        return error in errors.before
    if at in (AFTER_APPEND, AFTER_WATERMARK):
        is_there = errors.appends and error in errors.after
        return is_there and (at == AFTER_WATERMARK or error not in WATERMARK) and not _says_no_watermark(error, at)
    return at == BEFORE_ANSWER and error in errors.after


def _says_no_watermark(error: str, at: str) -> bool:
    return at == AFTER_WATERMARK and error == "REQUEST_TIMED_OUT"


def check(when: When, do: Sequence[Action], force: bool) -> None:
    """Raise ValueError for an invalid fault. `force` allows an error where Kafka does not have it."""
    for action in do[:-1]:
        if action.ends:
            raise ValueError(f"no action can follow {action.verb!r}, but {do[-1].verb!r} does")
    _check_selectors(when)
    for action in do:
        _check_action(action, when)
        if isinstance(action, Error) and not force:
            _check_error(action, when)


def check_brokers(when: When, do: Sequence[Action], broker_ids: Sequence[int]) -> None:
    """Raise ValueError for a broker, selected or acted on, that the cluster does not have."""
    named = [("the fault can never match", broker_id) for broker_id in when.broker]
    named += [
        (f"{action.verb!r} can never act", action.broker)
        for action in do
        if isinstance(action, ClusterAction) and action.broker is not None
    ]
    for problem, broker_id in named:
        if broker_id not in broker_ids:
            raise ValueError(f"{problem}: there is no broker {broker_id}: the ids are {ids_in_words(broker_ids)}")


# Selectors.


def _check_selectors(when: When) -> None:
    if when.at == CONNECT:
        _refuse(when, (*_OF_REQUESTS, *when.entity_selectors), "nothing has been read by then")
        return
    if when.at == REQUEST_READ:
        _refuse(when, ("acks", *when.entity_selectors), "its body has not been read by then: use at='before_work'")
    for name in when.api:
        _check_api(name, table()[name], when)
    if not when.api and not any(_has_all(errors, when) for errors in table().values()):
        raise ValueError(f"no API has all of {_and(when.entity_selectors)}: the fault can never match")


def _refuse(when: When, names: Sequence[str], reason: str) -> None:
    for name in names:
        if getattr(when, name):
            raise ValueError(f"'{name}' is not known at {when.at!r}: {reason}")


def _check_api(name: str, errors: Errors, when: When) -> None:
    for selector in when.entity_selectors:
        if selector not in errors.selectors:
            has = f"it has {_and(errors.selectors)}" if errors.selectors else "its requests have no parts to select"
            raise ValueError(f"{name} has no '{selector}', so the fault can never match: {has}")
    if when.acks and name != "Produce":
        raise ValueError(f"{name} has no 'acks', so the fault can never match: only Produce has them")
    if when.principal and name == SASL_HANDSHAKE:
        raise ValueError(f"{name} comes before a client names its principal: use api='{SASL_AUTHENTICATE}'")
    known = versions(api_keys()[name])
    if when.versions and not any(low <= known[-1] and high >= known[0] for low, high in when.versions):
        raise ValueError(f"{name} has the versions {known[0]} to {known[-1]}, so the fault can never match")
    if when.at in (AFTER_APPEND, AFTER_WATERMARK) and not errors.appends:
        raise ValueError(f"{name} appends nothing, so it never reaches {when.at!r}: use at='before_answer'")


def _has_all(errors: Errors, when: When) -> bool:
    return set(when.entity_selectors) <= set(errors.selectors)


# Actions.


def _check_action(action: Action, when: When) -> None:
    verb, at = action.verb, when.at
    if isinstance(action, ByteAction):
        if at != WITHIN_ANSWER:
            raise ValueError(f"{verb!r} changes the bytes of a response: use at='within_answer', not {at!r}")
        if isinstance(action, CorruptBatch) and when.api != ("Fetch",):
            raise ValueError("'corrupt_batch' needs a response with batches: use api='Fetch'")
    elif at == WITHIN_ANSWER and not action.takes_time:
        raise ValueError(f"{verb!r} does not change the bytes of a response: use at='before_answer' or 'after_answer'")
    if action.needs_answer:
        if at in (CONNECT, AFTER_ANSWER):
            raise ValueError(f"{verb!r} needs a response, and at {at!r} there is none")
        if action.usual_point == BEFORE_ANSWER != at:
            raise ValueError(f"{verb!r} needs the response before it is sent: use at='before_answer', not {at!r}")
    if set(when.acks) == {0} and at in (AFTER_WATERMARK, BEFORE_ANSWER, WITHIN_ANSWER, AFTER_ANSWER):
        raise ValueError(f"a Produce with acks=0 has no response, so it never reaches {at!r}")
    if set(when.acks) == {1} and at == AFTER_WATERMARK:
        raise ValueError("a Produce with acks=1 does not wait for the high watermark: use at='after_append'")
    _check_target(action, when)


def _check_target(action: Action, when: When) -> None:
    if isinstance(action, PartitionAction) and action.topic is None:
        apis = [table()[name] for name in when.api] if when.api else table().values()
        if when.at in (CONNECT, REQUEST_READ) or not any({"topic", "partition"} <= set(r.selectors) for r in apis):
            raise ValueError(f"{action.verb!r} has no partition here: give its 'topic' and 'partition'")
    if isinstance(action, MoveCoordinator):
        apis = [table()[name] for name in when.api] if when.api else table().values()
        if when.at in (CONNECT, REQUEST_READ) or not any(
            {"group", "transactional_id"} & set(r.selectors) for r in apis
        ):
            raise ValueError("'move_coordinator' needs a request with a group or a transactional id")


def _check_error(error: Error, when: When) -> None:
    name = error.error
    if error.message and when.api != (SASL_AUTHENTICATE,):
        raise ValueError(f"'message' is that of a refused login: use api='{SASL_AUTHENTICATE}'")
    if name == ANYWHERE:
        return
    if name in ACKS_ALL and when.acks and -1 not in when.acks and when.api == ("Produce",):
        raise ValueError(f"{name} is returned for acks=-1 only, which waits")
    if not when.api:
        if not any(can_answer(errors, name, when.at) for errors in table().values()):
            raise ValueError(f"no API returns {name} at {when.at!r} (force=True allows it)")
        return
    for api in when.api:
        if not can_answer(table()[api], name, when.at):
            raise ValueError(f"{_why_not(api, table()[api], name, when.at)} (force=True allows it)")


def _why_not(api: str, errors: Errors, name: str, at: str) -> str:
    if name not in errors.before | errors.after:
        return f"{api} never returns {name}"
    if name not in errors.after:
        done = "the records are appended" if at in (AFTER_APPEND, AFTER_WATERMARK) else "the work is done"
        return f"{name} of {api} means that nothing was done, but at {at!r} {done}: use at='before_work'"
    if at in (BEFORE_WORK, REQUEST_READ):
        where = AFTER_WATERMARK if name in WATERMARK else AFTER_APPEND if errors.appends else BEFORE_ANSWER
        return f"{name} of {api} means that the work was done, but at {at!r} nothing is done: use at={where!r}"
    if at == AFTER_WATERMARK:
        return f"{name} of {api} means that a record was not replicated, but at {at!r} it is: use at='after_append'"
    return f"{name} of {api} means that the ISR has the records, but at {at!r} it may not: use at='after_watermark'"


def _and(names: Sequence[str]) -> str:
    quoted = [f"'{name}'" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"

"""The parts of a request and of its response: which of them a fault selects, how to remove, add and fail them.

Theory   A message is a tree: topics with partitions, groups with members. A part is identified by the fields of its own
         struct and of those above it (its roles). The selectors of `when` are decided at some depth: with a topic alone
         that is the topic, with all its partitions. A path leads to a part: (field, index) from the top; () is the
         whole message. One walk serves all APIs: fields have the same names in them, or one of a few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final
from uuid import UUID

from fakebroker.core.faults.table import table
from fakebroker.core.faults.when import When
from fakebroker.protocol.error_code import ErrorCode

Path = tuple[tuple[str, int], ...]
Roles = Mapping[str, Any]
Resolve = Callable[[UUID | None, str | None], tuple[UUID | None, str | None]]

BRANCHES: Final = frozenset(
    {
        "topic_data", "partition_data", "topics", "partitions", "partition_indexes", "responses",
        "partition_responses", "groups", "groups_names", "group_ids", "coordinator_keys", "coordinators",
        "members", "transactions", "v3_and_below_topics", "results_by_topic_v3_and_below",
        "results_by_partition", "results_by_transaction", "topic_results", "markers", "resources", "results",
        "dirs", "topic_partitions", "replica_election_results", "partition_result", "topic_names",
        "transactional_ids", "transaction_states", "entries", "filter_results",
        "matching_acls",
    }
)  # fmt: skip
_ROLE_OF_FIELD: Final = {
    "topic": "topic",
    "name": "topic",
    "topic_name": "topic",
    "topic_id": "topic_id",
    "partition": "partition",
    "partition_index": "partition",
    "partition_id": "partition",
    "index": "partition",
    "group_id": "group",
    "member_id": "member",
    "transactional_id": "transactional_id",
    "v3_and_below_transactional_id": "transactional_id",
    "resource_name": "resource",
}
_ROLE_OF_ITEMS: Final = {  # arrays of plain values
    "partitions": "partition",
    "partition_indexes": "partition",
    "topic_names": "topic",
    "groups": "group",
    "groups_names": "group",
    "group_ids": "group",
    "transactional_ids": "transactional_id",
}
_ERROR_FIELDS: Final = ("error_code", "partition_error_code")
_RESOURCE_TYPES: Final = {2: "topic", 4: "broker", 8: "broker_logger", 16: "client_metrics", 32: "group"}


def replaced(message: Any, **changes: Any) -> Any:
    """Return the message with other values in some of its fields."""
    return replace(message, **changes)


class Tree:
    """The walk over the messages of one API. `only_reads` is True for an API that changes nothing. `resolve` completes
    id and name of a topic, as far as they are known."""

    def __init__(self, api: str, resolve: Resolve) -> None:
        errors = table()[api]
        self._selectors = errors.selectors
        self._not_parts = errors.not_parts
        self.only_reads = errors.only_reads
        self._api = api
        self._resolve = resolve

    def matched(self, message: Any, when: When, base: Roles) -> list[Path]:
        """Return the paths of the parts that `when` selects; [()] for the whole message. `base` are roles that apply to
        all."""
        said = when.entity_selectors
        return list(self._matched(message, when, said, {**base, **self.roles_of(message)}, ()))

    def _matched(self, node: Any, when: When, said: tuple[str, ...], roles: Roles, path: Path) -> Iterator[Path]:
        for name in said:
            if roles.get(name) is not None and not _fits(roles, name, when):
                return
        if all(roles.get(name) is not None for name in said):
            yield path
            return
        for field, index, item in self.children(node):
            own = self._roles_of_item(node, field, item)
            yield from self._matched(item, when, said, {**roles, **own}, (*path, (field, index)))

    def children(self, node: Any) -> Iterator[tuple[str, int, Any]]:
        """Yield the parts right below a part: field, index, and the part."""
        if not is_dataclass(node):
            return
        for field in fields(node):
            if field.name in BRANCHES and field.name not in self._not_parts:
                value = getattr(node, field.name)
                if isinstance(value, tuple):
                    for index, item in enumerate(value):
                        yield field.name, index, item

    def leaves(self, node: Any, path: Path = ()) -> Iterator[Path]:
        """Yield the smallest parts, in order."""
        below = list(self.children(node))
        if not below:
            yield path
        for field, index, item in below:
            yield from self.leaves(item, (*path, (field, index)))

    def partitions(self, message: Any, path: Path, base: Roles) -> list[tuple[str, int]]:
        """Return (topic, partition) of all that lies in a part."""
        partitions = []
        for leaf in self.leaves(at(message, path), path):
            roles = self.roles(message, leaf, base)
            if roles.get("topic") and roles.get("partition") is not None:
                partitions.append((str(roles["topic"]), int(roles["partition"])))
        return partitions

    def roles(self, message: Any, path: Path, base: Roles) -> Roles:
        """Return all roles of the part at a path."""
        roles = {**base, **self.roles_of(message)}
        node = message
        for field, index in path:
            item = getattr(node, field)[index]
            roles |= self._roles_of_item(node, field, item)
            node = item
        return roles

    def _roles_of_item(self, parent: Any, field: str, item: Any) -> dict[str, Any]:
        if is_dataclass(item):
            return self.roles_of(item)
        if self._api == "FindCoordinator":
            return {_coordinator_role(parent): item}
        name = _ROLE_OF_ITEMS.get(field)
        return {} if name is None else self._complete({name: item})

    def roles_of(self, struct: Any) -> dict[str, Any]:
        """Return the roles in the fields of a struct."""
        roles: dict[str, Any] = {}
        for field in fields(struct):
            name = _ROLE_OF_FIELD.get(field.name)
            if name is not None and name in self._selectors:
                roles[name] = getattr(struct, field.name)
            elif self._api == "FindCoordinator" and field.name == "key":
                roles[_coordinator_role(struct)] = struct.key
            elif field.name == "resource_type" and "resource" in self._selectors:
                roles["resource_type"] = _RESOURCE_TYPES.get(int(struct.resource_type), "")
        return self._complete(roles)

    def _complete(self, roles: dict[str, Any]) -> dict[str, Any]:
        if "topic" in roles or "topic_id" in roles:
            topic_id, name = self._resolve(roles.get("topic_id"), roles.get("topic"))
            roles["topic_id"], roles["topic"] = topic_id, name
        return roles

    # Changed messages.

    def without(self, message: Any, paths: list[Path]) -> Any:
        """Return the message without those parts, and without structs that have lost all of their parts; None if
        nothing is left."""
        if () in paths:
            return None
        if not paths:
            return message
        below: dict[str, dict[int, list[Path]]] = {}
        for (field, index), *rest in paths:
            below.setdefault(field, {}).setdefault(index, []).append(tuple(rest))
        changes: dict[str, Any] = {}
        for field, by_index in below.items():
            kept = []
            for index, item in enumerate(getattr(message, field)):
                left = self.without(item, by_index[index]) if index in by_index else item
                if left is not None:
                    kept.append(left)
            changes[field] = tuple(kept)
        left = replaced(message, **changes)
        return left if any(True for _ in self.children(left)) else None

    def merged(self, answer: Any, errors: Any, paths: list[Path]) -> Any:
        """Return the response with the parts of `errors` at these paths added, or in place of existing ones."""
        if () in paths:
            return errors
        below: dict[str, dict[int, list[Path]]] = {}
        for (field, index), *rest in paths:
            below.setdefault(field, {}).setdefault(index, []).append(tuple(rest))
        changes: dict[str, Any] = {}
        for field, by_index in below.items():
            items = list(getattr(answer, field) or ())
            for index, inner in by_index.items():
                item = getattr(errors, field)[index]
                place = self._place(items, self._roles_of_item(errors, field, item), answer, field)
                if place is None:
                    keep = [path for path in self.leaves(item) if not _is_below_any(path, inner)]
                    items.append(item if () in inner or not keep else self.without(item, keep))
                else:
                    items[place] = self.merged(items[place], item, inner)
            changes[field] = tuple(items)
        return replaced(answer, **changes)

    def _place(self, items: list[Any], roles: Roles, parent: Any, field: str) -> int | None:
        for index, item in enumerate(items):
            if self._roles_of_item(parent, field, item) == roles:
                return index
        return None

    def with_errors(self, message: Any, path: Path, code: ErrorCode, over: tuple[ErrorCode, ...] | None = None) -> Any:
        """Set the error of all that lies at the path and can have one. With `over` only errors in that list are
        replaced."""
        if path:
            (field, index), *rest = path
            items = list(getattr(message, field))
            items[index] = self.with_errors(items[index], tuple(rest), code, over)
            return replaced(message, **{field: tuple(items)})
        if not is_dataclass(message) or isinstance(message, type):
            return message
        changes: dict[str, Any] = {}
        for field, _, _ in self.children(message):
            if field not in changes:
                changes[field] = tuple(self.with_errors(item, (), code, over) for item in getattr(message, field))
        for name in _ERROR_FIELDS:
            if hasattr(message, name) and (over is None or getattr(message, name) in over):
                changes[name] = code
        return replaced(message, **changes) if changes else message


def at(message: Any, path: Path) -> Any:
    """Return the part at a path."""
    for field, index in path:
        message = getattr(message, field)[index]
    return message


def error_at(message: Any, path: Path) -> ErrorCode | None:
    """Return the error of the part at a path; None if it can have none."""
    node = at(message, path)
    for name in _ERROR_FIELDS:
        if hasattr(node, name):
            code: ErrorCode = getattr(node, name)
            return code
    return None


def _is_below_any(path: Path, tops: list[Path]) -> bool:
    return any(path[: len(top)] == top for top in tops)


def _coordinator_role(struct: Any) -> str:
    return "transactional_id" if int(getattr(struct, "key_type", 0) or 0) == 1 else "group"


def _fits(roles: Roles, name: str, when: When) -> bool:
    wanted = getattr(when, name)
    value = roles[name]
    return value in wanted or (name == "resource" and f"{roles.get('resource_type')}:{value}" in wanted)

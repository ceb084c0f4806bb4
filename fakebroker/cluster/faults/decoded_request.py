"""A request as faults see it: its message, its parts, and which of them a fault selects."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final, final

from fakebroker.apis.produce.produce_answer import failed_unanswered
from fakebroker.cluster.faults.tree import Path, Tree, at, replaced
from fakebroker.core.faults.actions import Error
from fakebroker.core.faults.armed import Armed
from fakebroker.core.faults.seen import SeenRequest
from fakebroker.core.faults.table import ACKS_ALL
from fakebroker.network.connection import Connection
from fakebroker.protocol.headers import RequestHeader
from fakebroker.protocol.messages import decode_request, encode_request

WHOLE: Final[list[Path]] = [()]
Place = tuple[str, int]


@final
class DecodedRequest:
    """A decoded request. `message` is kio's; `frame` has no length prefix. `acks` is that of a Produce. Raises
    ProtocolError for an unreadable request."""

    def __init__(self, api: str, tree: Tree, header: RequestHeader, frame: bytes) -> None:
        self.api = api
        self.tree = tree
        self.header = header
        self.frame = frame
        message: Any = decode_request(header.api_key, header.api_version, frame, header.body_offset)
        self.message = message
        self.acks: int | None = int(message.acks) if api == "Produce" else None
        self._paths: dict[Armed, list[Path]] = {}

    def paths(self, armed: Armed) -> list[Path]:
        """Return the parts that a fault selects, once it has matched: [()] for the whole request, nothing if the
        request asks for all."""
        return self._paths.get(armed, WHOLE)

    def matches(self, armed: Armed) -> bool:
        """Return True if the fault's selectors match the parts of the request."""
        when = armed.fault.when
        if when.acks and self.acks not in when.acks:
            return False
        if self.api == "Produce" and self.acks != -1 and _needs_acks_all(armed) and not armed.fault.force:
            return False
        if when.entity_selectors:
            paths = self.tree.matched(self.message, when, {})
            asks_for_all = self.tree.only_reads and not any(self.tree.leaves(self.message))
            if not paths and not asks_for_all:
                return False
            self._paths[armed] = paths
        return True

    def partitions(self, paths: Sequence[Path]) -> list[Place]:
        return [place for path in paths for place in self.tree.partitions(self.message, path, {})]

    def failed_unanswered(self, errors: Sequence[tuple[Armed, str]]) -> str:
        """Return why a connection is closed if these faults made a Produce with acks=0 fail."""
        failed = [
            f"{error} on {topic}-{index}"
            for armed, error in errors
            for topic, index in self.partitions(self.paths(armed))
        ]
        return failed_unanswered(self.header.correlation_id, self.header.client_id or "", failed, len(failed))

    def names(self, role: str, paths: Sequence[Path]) -> list[str]:
        """Return the groups, or other names of a role, in these parts."""
        leaves = [leaf for path in paths for leaf in self.tree.leaves(at(self.message, path), path)]
        names = [self.tree.roles(self.message, path, {}).get(role) for path in leaves]
        return [str(name) for name in dict.fromkeys(names) if name]

    def is_covered(self, paths: Sequence[Path]) -> bool:
        """Return True if these are all of its parts."""
        return all(any(leaf[: len(top)] == top for top in paths) for leaf in self.tree.leaves(self.message))

    def frame_without(self, paths: Sequence[Path]) -> bytes | None:
        """Return the request without these parts; None if nothing is left."""
        left = self.tree.without(self.message, list(dict.fromkeys(paths)))
        return None if left is None else self._frame_of(left)

    def frame_that_does_not_wait(self) -> bytes:
        """Return the same Fetch without a wait."""
        return self._frame_of(replaced(self.message, max_wait=timedelta(0)))

    def _frame_of(self, message: Any) -> bytes:
        return encode_request(message, self.header.correlation_id, self.header.client_id)[4:]

    def seen(self, connection: Connection) -> SeenRequest:
        """Return the request as predicates see it."""
        return SeenRequest(
            self.api,
            self.header.api_version,
            connection.broker_id,
            self.header.client_id or "",
            connection.number,
            connection.listener.name,
            str(connection.principal),
            self.message,
        )


def _needs_acks_all(armed: Armed) -> bool:
    return any(isinstance(action, Error) and action.error in ACKS_ALL for action in armed.fault.do)

"""Requests of users that are parked, or parts of something longer, while permissions change."""

from __future__ import annotations

from uuid import UUID

from conformance import frames, session_steps
from conformance.frames import EARLIEST
from conformance.generated.walks.user_scene import Given, UserScene
from conformance.generated.walks.walk import LONG_MS
from conformance.group_frames import heartbeat, join_group, sync_group
from conformance.group_steps import nth
from conformance.scenario import AwaitCoordinator
from conformance.security.user_steps import harness
from conformance.session_ids import session

_AWAITED_BYTES = 20_000
_WAIT_MS = 30_000


class UserParking:
    """Each parked request is alone on its connection, and is completed before the next action."""

    def __init__(self, scene: UserScene) -> None:
        self._scene = scene
        self._sessions = 0
        self._members = 0  # ids that were given

    def fetch(self, user: str) -> None:
        """Let a Fetch wait for bytes. Permissions change, then the bytes come."""
        topic = self._scene.random.choice(self._scene.topics).name
        if self._scene.random.random() < 0.6:
            self._scene.give(Given(user, f"TOPIC {topic} READ"))
        conn = self._scene.connect(user)
        self._scene.send(conn, frames.fetch(topic, 0, max_wait_ms=_WAIT_MS, min_bytes=_AWAITED_BYTES))
        self._revoke(Given(user, f"TOPIC {topic} READ"))
        self._scene.steps += harness(frames.produce(topic, frames.batch(b"x" * _AWAITED_BYTES)))
        self._scene.hear(conn)
        self._scene.ask(user, frames.fetch(topic, 0, max_bytes=100), frames.list_offsets(topic, EARLIEST))

    def join(self, user: str) -> None:
        """Let a second member wait until the first one joins again. Permissions change meanwhile."""
        group = f"{self._scene.name}-g{len(self._scene.groups)}"
        self._scene.groups.append(group)
        other = self._scene.random.choice([candidate for candidate in self._scene.users if candidate != user])
        self._scene.steps.append(AwaitCoordinator(group))
        reads = [Given(reader, f"GROUP {group} READ") for reader in (user, other)]
        self._scene.give(*(given for given in reads if self._scene.random.random() < 0.85))
        first = self._joined(user, group)
        self._scene.ask(user, sync_group(group, first, 1, {first: b"all"}))
        second = self._id_for(other, group)
        conn = self._scene.connect(other)
        self._scene.send(conn, _join(group, second))
        self._revoke(self._scene.random.choice(reads))
        self._scene.ask(user, heartbeat(group, first), _join(group, first))
        self._scene.steps += harness(_join(group, first))
        self._scene.hear(conn)
        for name, member in ((user, first), (other, second)):
            self._scene.ask(name, sync_group(group, member, 2, {first: b"one", second: b"two"} if name == user else {}))

    def fetch_session(self, user: str) -> None:
        """Let a session have both topics. Permissions change between its requests."""
        conn = self._scene.connect(user)
        wanted: dict[str | UUID, dict[int, int]] = {topic.name: {0: 0} for topic in self._scene.topics}
        self._sessions += 1
        own = session(self._sessions)
        self._scene.send(conn, session_steps.fetch(3, wanted))
        self._scene.hear(conn)
        for epoch in range(1, self._scene.random.choice([3, 4])):
            self._scene.change()
            self._scene.send(conn, session_steps.fetch(3, id=own, epoch=epoch))
            self._scene.hear(conn)

    def _joined(self, user: str, group: str) -> str:
        member = self._id_for(user, group)
        self._scene.ask(user, _join(group, member))
        return member

    def _id_for(self, user: str, group: str) -> str:
        """Let a user ask for the id of a member, and return its stand-in."""
        self._scene.ask(user, _join(group, ""))
        self._members += self._scene.may(user, "GROUP", group, "READ")
        return nth(self._members)

    def _revoke(self, given: Given) -> None:
        """Take a permission away, deny the same, or change something else."""
        chance = self._scene.random.random()
        if chance < 0.4 and given in self._scene.given:
            self._scene.given.remove(given)
            self._scene.take(given)
        elif chance < 0.7:
            self._scene.give(Given(given.user, f"-{given.text}"))
        else:
            self._scene.change()


def _join(group: str, member: str) -> bytes:
    return join_group(group, member, session_ms=LONG_MS, rebalance_ms=LONG_MS)

"""Random walks of classic groups.

Theory   A small model of the group guesses the result of each request: the generation, and which requests are parked.
         So most requests are what a client might send then; some are wrong in one thing. Where the model is wrong a
         walk is only less likely to meet something. Kafka's response decides what is right.
         In Kafka the order of a hash table of random ids decides the next leader when a leader leaves more than one
         member behind. Walks avoid that.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from random import Random

from conformance import frames, group_frames
from conformance.generated.walks.actor import Actor
from conformance.generated.walks.walk import CLIENTS, GROUP, LONG_MS, PARTITIONS, TOPIC, Step, Walk

_OFFSET_COMMIT, _OFFSET_FETCH, _OFFSET_DELETE = 8, 9, 47


class ClassicWalker:
    """Makes one walk."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._actors = [Actor(letter, random) for letter in CLIENTS[: random.choice([1, 2, 2, 3, 3, 4])]]
        self.steps: list[Step] = []
        self._number = 0
        # The model of the group.
        self._state = "Empty"
        self._members: list[Actor] = []
        self._joined: set[Actor] = set()
        self._leader: Actor | None = None
        self._generation = 0
        self._coordinator = 1

    def walk(self, length: int) -> Walk:
        self.go(length)
        self.end()
        return Walk(tuple(self.steps))

    def go(self, length: int) -> None:
        """Make steps until there are so many, or all members are parked."""
        actions: list[tuple[int, Callable[[Actor], None]]] = [
            (12, self._join),
            (12, self._sync),
            (4, self._heartbeat),
            (3, self._commit),
            (2, self._fetch_offsets),
            (2, self._leave),
            (1, self._describe),
            (1, self._delete),
            (1, self._go_away),
        ]
        weights = [weight for weight, _ in actions]
        while len(self.steps) < length:
            free = [actor for actor in self._actors if not actor.is_parked]
            if not free:
                break
            [(_, action)] = self._random.choices(actions, weights)
            action(self._random.choice(free))

    def end(self) -> None:
        """Describe the group on another connection."""
        watcher = self._actors[0].letter + "9"
        frame = group_frames.describe_groups([GROUP], version=5, correlation_id=900)
        self.steps.append(Step(watcher, frame, broker=self._coordinator))

    def moved(self, broker: int) -> None:
        """Continue on another coordinator. Each parked request gets its response, and each member comes back on another
        connection. The new coordinator knows nothing of a group that was not in a generation."""
        self._coordinator = broker
        self._free_all()
        self._joined = set()
        self._state = "Stable" if self._members else "Empty"
        for actor in self._actors:
            self._go_away(actor)

    # Actions.

    def _join(self, actor: Actor) -> None:
        """Join as a client does: without an id, then with the id of the response."""
        version = self._random.choice([4, 5, 6, 7, 8, 9, 9])
        changes = self._rarely()
        if changes:
            actor.metadata += 1
        is_static = actor.instance_id is not None and version >= 5
        if actor.instance_id is not None and version < 5:
            return
        if not actor.member_id and not is_static:
            self._send(actor, self._join_frame(actor, version, ""))
            actor.told_id()
        waits = self._will_wait(actor, changes, is_static)
        member_id = self._wrong_id(actor)
        if member_id is not None:
            self._send(actor, self._join_frame(actor, version, member_id))
            return
        had_no_id = not actor.member_id
        self._send(actor, self._join_frame(actor, version, actor.member_id), parks=waits)
        if had_no_id:
            actor.told_id()
        self._has_joined(actor, waits)

    def _join_frame(self, actor: Actor, version: int, member_id: str) -> bytes:
        suffix = b"%d" % actor.metadata
        return group_frames.join_group(
            GROUP,
            member_id,
            version=version,
            correlation_id=self._next(),
            protocols=[(name, metadata + suffix) for name, metadata in actor.protocols],
            instance_id=actor.instance_id,
            protocol_type="connect" if self._very_rarely() else "consumer",
            session_ms=self._random.choice([LONG_MS] * 30 + [100, 2_000_000]),
            rebalance_ms=LONG_MS,
        )

    def _sync(self, actor: Actor) -> None:
        if not actor.member_id and not self._very_rarely():
            return
        leads = actor is self._leader
        assignments = {}
        if leads or self._very_rarely():
            assignments = {member.member_id: b"to " + member.letter.encode() for member in self._members}
        version = self._random.choice([0, 1, 2, 3, 4, 5, 5])
        if actor.instance_id is not None and version < 3:
            version = 5
        generation = self._some_generation(actor)
        waits = self._state == "Completing" and not leads and generation == self._generation and actor in self._members
        odd = self._very_rarely()
        frame = group_frames.sync_group(
            GROUP,
            self._wrong_id(actor) or actor.member_id,
            generation,
            assignments,
            version=version,
            correlation_id=self._next(),
            instance_id=actor.instance_id,
            protocol_type="connect" if odd else self._random.choice(["consumer", "consumer", None]),
            protocol_name=None,
        )
        self._send(actor, frame, parks=waits)
        if waits:
            actor.is_parked = True
        elif leads and self._state == "Completing" and generation == self._generation:
            self._state = "Stable"
            self._free_all()

    def _heartbeat(self, actor: Actor) -> None:
        version = self._random.choice([0, 1, 2, 3, 4]) if actor.instance_id is None else self._random.choice([3, 4])
        self._send(
            actor,
            group_frames.heartbeat(
                GROUP,
                self._wrong_id(actor) or actor.member_id,
                self._some_generation(actor),
                version=version,
                correlation_id=self._next(),
                instance_id=actor.instance_id,
            ),
        )

    def _commit(self, actor: Actor) -> None:
        version = self._random.choice([2, 5, 6, 7, 8, 9])
        partitions = [
            {
                "partition_index": self._random.randrange(PARTITIONS + (1 if self._very_rarely() else 0)),
                "committed_offset": self._random.randrange(100),
                "committed_leader_epoch": self._random.choice([-1, 0, 7]),
                "committed_metadata": self._random.choice(["", "meta", None]),
            }
        ]
        values = {
            "group_id": GROUP,
            "generation_id_or_member_epoch": self._some_generation(actor),
            "member_id": actor.member_id,
            "group_instance_id": actor.instance_id,
            "retention_time": timedelta(milliseconds=-1),
            "topics": [{"name": TOPIC, "partitions": partitions}],
        }
        self._send(actor, frames.request(_OFFSET_COMMIT, version, values, self._next()))

    def _fetch_offsets(self, actor: Actor) -> None:
        version = self._random.choice([1, 2, 5, 7, 8, 9])
        topics = [{"name": TOPIC, "partition_indexes": list(range(PARTITIONS))}]
        group = {"group_id": GROUP, "member_id": None, "member_epoch": -1, "topics": topics}
        values = {"group_id": GROUP, "topics": topics, "groups": [group], "require_stable": self._rarely()}
        self._send(actor, frames.request(_OFFSET_FETCH, version, values, self._next()))

    def _leave(self, actor: Actor) -> None:
        if actor is self._leader and len(self._members) > 2:
            return  # the next leader then depends on chance
        version = self._random.choice([0, 2, 3, 5]) if actor.instance_id is None else self._random.choice([3, 5])
        named = (self._wrong_id(actor) or actor.member_id, actor.instance_id)
        self._send(actor, group_frames.leave_group(GROUP, named, version=version, correlation_id=self._next()))
        if named[0] == actor.member_id:
            self._has_left(actor)

    def _describe(self, actor: Actor) -> None:
        version = self._random.choice([0, 1, 2, 3, 4, 5, 6])
        self._send(actor, group_frames.describe_groups([GROUP], version=version, correlation_id=self._next()))

    def _delete(self, actor: Actor) -> None:
        if self._random.random() < 0.5:
            topics = [{"name": TOPIC, "partitions": [{"partition_index": 0}]}]
            values = {"group_id": GROUP, "topics": topics}
            self._send(actor, frames.request(_OFFSET_DELETE, 0, values, self._next()))
        elif not self._members:
            self._send(actor, group_frames.delete_groups([GROUP], correlation_id=self._next()))
            self._state, self._generation = "Empty", 0

    def _go_away(self, actor: Actor) -> None:
        """Disconnect; the same member comes back on another connection."""
        self.steps.append(Step(actor.conn, None))
        actor.life += 1

    # The model.

    def _will_wait(self, actor: Actor, changes: bool, is_static: bool) -> bool:
        others = [member for member in self._members if member is not actor and member not in self._joined]
        if actor in self._members and actor.member_id:
            if self._state == "Stable" and not changes and actor is not self._leader:
                return False
            if self._state == "Completing" and not changes:
                return False
        elif is_static and actor in self._members and self._state == "Stable":
            return False
        return bool(others)

    def _has_joined(self, actor: Actor, waits: bool) -> None:
        if actor not in self._members:
            self._members.append(actor)
        elif not waits and (self._state == "Completing" or (self._state == "Stable" and actor is not self._leader)):
            return
        if self._state != "Preparing":
            if self._state == "Completing":
                self._free_all()  # a parked SyncGroup completes with the rebalance
            self._state = "Preparing"
            self._joined = set()
        self._joined.add(actor)
        actor.is_parked = True
        self._maybe_complete()

    def _maybe_complete(self) -> None:
        if self._state == "Preparing" and self._members and self._joined >= set(self._members):
            self._generation += 1
            self._state = "Completing"
            self._leader = self._leader if self._leader in self._members else self._members[0]
            self._joined = set()
            self._free_all()
            for member in self._members:
                member.generation = self._generation

    def _has_left(self, actor: Actor) -> None:
        actor.member_id = ""
        actor.generation = -1
        if actor not in self._members:
            return
        self._members.remove(actor)
        self._joined.discard(actor)
        if not self._members:
            self._state, self._leader, self._generation = "Empty", None, self._generation + 1
        elif self._state in ("Stable", "Completing"):
            if self._state == "Completing":
                self._free_all()
            self._state = "Preparing"
            self._joined = set()
        else:
            self._maybe_complete()

    def _free_all(self) -> None:
        for actor in self._actors:
            actor.is_parked = False

    # Chance.

    def _some_generation(self, actor: Actor) -> int:
        return actor.generation + (self._random.choice([-1, 1, 5]) if self._rarely() else 0)

    def _wrong_id(self, actor: Actor) -> str | None:
        """Return, rarely, the id of another member or an unknown id; else None."""
        if not self._very_rarely():
            return None
        others = [other.member_id for other in self._actors if other is not actor and other.member_id]
        return self._random.choice([*others, "nobody"])

    def _rarely(self) -> bool:
        return self._random.random() < 0.12

    def _very_rarely(self) -> bool:
        return self._random.random() < 0.04

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _send(self, actor: Actor, frame: bytes, parks: bool = False) -> None:
        self.steps.append(Step(actor.conn, frame, parks, self._coordinator))


def classic_walk(seed: int) -> Walk:
    """Return the walk of this seed."""
    random = Random(seed)
    return ClassicWalker(random).walk(random.choice([6, 10, 14, 18]))

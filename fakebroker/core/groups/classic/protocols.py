"""The choice of a group's protocol, and the subscriptions in its members' metadata.

Theory   Each member votes for the first of its protocols that all members support. The most votes win. A tie is decided
         by the order of a Java hash table, which depends on the names alone, and so is the same here.
Source   group-coordinator/.../classic/ClassicGroup.java selectProtocol, computeSubscribedTopics; ConsumerProtocol.java
         @ 4.2; java.util.HashMap.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct, error
from typing import Final

from fakebroker.core.groups.classic.member import ClassicGroupMember
from fakebroker.core.hash_order import hash_map_order
from fakebroker.protocol.group_records.many_names import MANY, ManyNames, Names, names_in_slices
from fakebroker.protocol.groups.requests import MemberProtocol
from fakebroker.protocol.slices import Slices, finish

CONSUMER: Final = "consumer"  # the protocol type of consumers

_LARGE_BYTES: Final = 8_192
_NAMES_OF_A_SLICE: Final = 1_024

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")


class SupportedProtocols:
    """Counts of how many members support each protocol."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def add(self, member: ClassicGroupMember) -> None:
        for protocol in member.protocols:
            self._counts[protocol.name] = self._counts.get(protocol.name, 0) + 1

    def remove(self, member: ClassicGroupMember) -> None:
        for protocol in member.protocols:
            count = self._counts[protocol.name] - 1
            if count:
                self._counts[protocol.name] = count
            else:
                del self._counts[protocol.name]

    def any_is_known_to(self, count: int, names: Iterable[str]) -> bool:
        """Return True if exactly `count` members support one of the names."""
        return any(self._counts.get(name, 0) == count for name in names)

    def select(self, members: Iterable[ClassicGroupMember], count: int) -> str:
        """Return the protocol with the most votes. Raise KafkaError if no protocol is counted `count` times, as when a
        member names one twice."""
        candidates = {name for name, times in self._counts.items() if times == count}
        votes: dict[str, int] = {}
        for member in members:
            name = member.vote(candidates)
            votes[name] = votes.get(name, 0) + 1
        return max(hash_map_order(votes), key=lambda name: votes[name])

    def check_invariants(self, members: Iterable[ClassicGroupMember]) -> None:
        fresh = SupportedProtocols()
        for member in members:
            fresh.add(member)
        assert self._counts == fresh._counts


def subscribed_topics(members: Iterable[ClassicGroupMember], protocol_name: str) -> list[Names] | None:
    """Return sets that together hold the topics of all members. Return None if a subscription cannot be read."""
    few: set[str] = set()
    many: list[Names] = []
    for member in members:
        protocol = member.protocol(protocol_name)
        topics = finish(_topics(protocol.metadata)) if protocol.topics is None else protocol.topics
        if not topics:
            return None
        if isinstance(topics[0], ManyNames):
            many.append(topics[0])
        else:
            few |= topics[0]
    return [frozenset(few), *many]


def with_topics(protocols: tuple[MemberProtocol, ...]) -> Slices[tuple[MemberProtocol, ...]]:
    """Return the protocols of a consumer. Read the topics of large metadata now, in slices."""
    read = []
    for protocol in protocols:
        if len(protocol.metadata) > _LARGE_BYTES:
            protocol = protocol._replace(topics=(yield from _topics(protocol.metadata)))
        read.append(protocol)
    return tuple(read)


def may_have_very_many_topics(protocols: tuple[MemberProtocol, ...]) -> bool:
    return any(len(protocol.metadata) > _LARGE_BYTES for protocol in protocols)


def _topics(metadata: bytes) -> Slices[tuple[Names] | tuple[()]]:
    try:
        names = yield from _topics_of_subscription(metadata)
    except (error, ValueError):
        return ()
    return ((yield from names_in_slices(names)),) if len(names) > MANY else (frozenset(names),)


def _topics_of_subscription(data: bytes) -> Slices[list[str]]:
    """Read the topics by the layout of version 0, with which all versions begin. Raises struct.error or ValueError."""
    _INT16.unpack_from(data)  # the version, which is not needed
    count = _size(data, 6, _INT32.unpack_from(data, 2)[0])
    at = 6
    topics: list[str] = []
    for number in range(1, count + 1):
        size = _size(data, at + 2, _INT16.unpack_from(data, at)[0])
        at += 2 + size
        topics.append(data[at - size : at].decode(errors="replace"))
        if number % _NAMES_OF_A_SLICE == 0:
            yield
    _size(data, at + 4, max(_INT32.unpack_from(data, at)[0], 0))  # the size of the user data; -1 if there is none
    return topics


def _size(data: bytes, at: int, size: int) -> int:
    if not 0 <= size <= len(data) - at:
        raise ValueError(f"there are no {size} bytes at {at}")
    return size

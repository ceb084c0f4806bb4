"""Plays a walk to a cluster: what each connection was answered, in order.

Theory   After each request its answer is awaited; for one that waits for others not for long, only so that the cluster
         has it before the next request goes out on another connection. In what is noted, ids that the cluster made up
         are stand-ins again, so that two clusters say the same. Answers are noted per connection, whenever they came.
Units    seconds.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from threading import Lock
from typing import Any
from uuid import UUID

from conformance.consumer_group_frames import CONSUMER_GROUP_HEARTBEAT
from conformance.generated.walks.told import Told
from conformance.generated.walks.walk import GROUP, STAND_IN, Step, Walk, made_up, topic_stand_in
from conformance.targets.target import Target
from conformance.targets.wire import Connection, Sent, correlation_id, decoded, requests_in
from conformance.transcripts.recording import Answer, Heard, Recording

_MADE_UP = re.compile(r"(?:^|-)([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$")
_UNTOLD = re.compile(rb"(?<=static-)([a-d])-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ANSWERED_S = 0.4  # a response that is not delayed is there by then
_PARKED_S = 0.015  # by then a request that waits has been read and handled; nothing tells, so with patience ever later
_END_S = 0.06  # by then whatever follows from the last request has been answered
_KNOWN_S = 0.03  # by then a coordinator has heard of what its broker knows
_catching_up = Lock()  # a target's own connections are for one at a time
_CREATE_TOPICS = 19
# OffsetFetch, DescribeGroups, ConsumerGroupDescribe tell what all replicas of the coordinator's log have by then.
_READS_WHAT_IS_COMMITTED = (9, 15, 69)


class _Client:
    def __init__(self, name: str, connection: Connection) -> None:
        self.name = name
        self.connection = connection
        self.sent: dict[int, Sent] = {}
        self.read = 0  # arrivals that were looked at


class Player:
    """One walk on one cluster; `group` is as long as GROUP. `patience` stretches what is waited for."""

    def __init__(self, target: Target, group: str, patience: float = 1.0, brokers: Sequence[int] = (1,)) -> None:
        assert len(group) == len(GROUP)
        self._target = target
        self._group = group.encode()
        self._patience = patience
        self._brokers = brokers  # which run
        self._clients: dict[str, _Client] = {}
        self._real: dict[bytes, bytes] = {}  # by stand-in
        self._ids: Counter[str] = Counter()  # that were told, by client
        self._topics: Counter[str] = Counter()  # that were made, by name
        self._told = Told()
        self._said = b""

    def play(self, walk: Walk) -> Recording:
        try:
            self.go(walk.steps)
            return self.heard()
        finally:
            self.close()

    def go(self, steps: Sequence[Step]) -> None:
        """Some steps of a walk."""
        for step in steps:
            client = self._client(step.conn, step.broker)
            if step.frame is None:
                client.connection.close()
                continue
            data = self._with_real_ids(step.frame.replace(GROUP.encode(), self._group))
            data = self._told.put_in(step.conn[0], data)
            self._said += data
            client.sent |= requests_in(data)[0]
            if len(self._brokers) > 1 and int.from_bytes(data[4:6]) in _READS_WHAT_IS_COMMITTED:
                self._target.pause(round(_KNOWN_S * 1000 * self._patience))
            client.connection.send(data)
            self._await(client, _PARKED_S * self._patience if step.parks else _ANSWERED_S)
            if step.settles:
                self._settle()

    def heard(self) -> Recording:
        """Return the responses of each connection after all steps."""
        self._target.pause(round(_END_S * 1000 * self._patience))
        self._learn()
        return tuple(self._heard(client) for _, client in sorted(self._clients.items()))

    def close(self) -> None:
        for client in self._clients.values():
            client.connection.close()

    def _settle(self) -> None:
        with _catching_up:
            for broker in self._brokers:
                self._target.catch_up(broker)
        self._target.pause(round(_KNOWN_S * 1000 * self._patience))

    def _with_real_ids(self, data: bytes) -> bytes:
        """A client that waited may be told its id only now."""
        limit = self._target.now_s() + _ANSWERED_S * self._patience
        while True:
            self._learn()
            for stand_in, real in self._real.items():
                data = data.replace(stand_in, real)
            if STAND_IN not in data or self._target.now_s() > limit:
                return data
            self._target.pause(2)

    def _client(self, name: str, broker: int) -> _Client:
        if name not in self._clients:
            self._clients[name] = _Client(name, self._target.connect(broker))
        return self._clients[name]

    def _await(self, client: _Client, within_s: float) -> None:
        limit = self._target.now_s() + within_s * self._patience
        connection = client.connection
        while len(connection.arrivals) < len(client.sent) and not connection.closed:
            seen = len(connection.arrivals)
            connection.wait(seen, limit)
            if len(connection.arrivals) == seen:
                break
        self._learn()

    def _learn(self) -> None:
        """The ids that each connection was told as its own."""
        for client in self._clients.values():
            while client.read < len(client.connection.arrivals):
                frame = client.connection.arrivals[client.read].frame
                client.read += 1
                sent = client.sent.get(correlation_id(frame))
                says: Any = decoded(sent, frame)
                if sent is not None and "hex" not in says:
                    if sent.api_key == CONSUMER_GROUP_HEARTBEAT:
                        self._told.hear(client.name[0], says)
                        continue
                    if sent.api_key == _CREATE_TOPICS:
                        self._learn_topics(says)
                        continue
                member_id = says.get("member_id") if isinstance(says, dict) else None
                match = _MADE_UP.search(member_id or "")
                if match is None or match[1].encode() in self._said or match[1].encode() in self._real.values():
                    continue
                who = client.name[0]
                self._ids[who] += 1
                self._real[made_up(who, self._ids[who]).encode()] = match[1].encode()

    def _learn_topics(self, says: Any) -> None:
        for topic in says["topics"]:
            if topic["error_code"].startswith("NONE("):
                name = topic["name"].replace(self._group.decode(), GROUP)
                self._topics[name] += 1
                self._real[topic_stand_in(name, self._topics[name]).bytes] = UUID(topic["topic_id"]).bytes

    def _heard(self, client: _Client) -> Heard:
        answers = []
        for arrival in list(client.connection.arrivals):
            frame = arrival.frame.replace(self._group, GROUP.encode())
            for stand_in, real in self._real.items():
                frame = frame.replace(real, stand_in)
            frame = _UNTOLD.sub(_id_in_no_response_yet, frame)
            answers.append(Answer(client.sent.get(correlation_id(frame)), frame))
        return Heard("listen", client.name, tuple(answers), "closed" if client.connection.closed else "open")


def _id_in_no_response_yet(match: re.Match[bytes]) -> bytes:
    """The id of a static member that still waits to hear of it; others see it."""
    if STAND_IN in match[0]:
        return match[0]
    return b"%b-%b" % (match[1], made_up(match[1].decode(), 999_999).encode())

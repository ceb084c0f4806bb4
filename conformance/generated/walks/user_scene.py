"""The scene of walks of users: topics, groups, a transactional id, three users, and ACLs that come and go.

Theory   All names begin with the name of the walk, also those of users and of prefixes. So many walks share a box.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import NamedTuple

from conformance.frames import request
from conformance.scenario import Hear, Send, Step, Topic
from conformance.security.acl_steps import IN_FORCE, create_acls
from conformance.security.user_steps import SASL_SSL, asks, grant, harness, login

_DELETE_ACLS = 31
_LETTERS = "abc"
_EVERYBODY = "*"
_OPERATIONS = {
    "TOPIC": ("READ", "READ", "WRITE", "WRITE", "DESCRIBE", "DELETE", "ALTER", "DESCRIBE_CONFIGS", "ALL"),
    "GROUP": ("READ", "READ", "DESCRIBE", "DELETE", "ALL"),
    "TRANSACTIONAL_ID": ("WRITE", "WRITE", "DESCRIBE", "ALL"),
    "CLUSTER": ("IDEMPOTENT_WRITE", "DESCRIBE"),
}
_KINDS = ("TOPIC",) * 5 + ("GROUP",) * 3 + ("TRANSACTIONAL_ID",) * 2 + ("CLUSTER",)
_IMPLY_DESCRIBE = ("READ", "WRITE", "DELETE", "ALTER")


class Given(NamedTuple):
    """An ACL of the walk, as its text in `user_steps.grant`, and its user."""

    user: str
    text: str


class UserScene:
    """`name` begins what is called after it."""

    def __init__(self, random: Random, name: str) -> None:
        self.random = random
        self.name = name
        self.topics = [Topic(f"{name}-t{number}") for number in (1, 2)]
        self.groups = [f"{name}-g"]
        self.transaction = f"{name}-x"
        self.users = [f"{name}-{letter}" for letter in _LETTERS]
        self.steps: list[Step] = []
        self.given: list[Given] = []
        self._connections = 0

    def log_in(self) -> None:
        """Let each user log in, on a connection of its name."""
        for user in self.users:
            self.steps += login(user, user)

    def connect(self, user: str) -> str:
        """Let a user log in on a new connection, and return its name."""
        self._connections += 1
        conn = f"{user}-{self._connections}"
        self.steps += login(user, conn)
        return conn

    def ask(self, user: str, *frames: bytes) -> None:
        for step in asks(user, *frames):
            self.steps.append(replace(step, listener=SASL_SSL) if isinstance(step, Send) else step)

    def send(self, conn: str, frame: bytes) -> None:
        """Send a request of a user that has just logged in; its answer is heard later."""
        [sends, _] = asks(conn, frame)
        assert isinstance(sends, Send)
        self.steps.append(replace(sends, listener=SASL_SSL))

    def hear(self, conn: str) -> None:
        self.steps.append(Hear(1, conn))

    def begin(self) -> None:
        """Give each user most of what clients need."""
        needed = [("TOPIC", "READ"), ("TOPIC", "WRITE"), ("GROUP", "READ"), ("TRANSACTIONAL_ID", "WRITE")]
        chosen = [
            Given(user, f"{kind} {self.random.choice([*self._names(kind), f'{self.name}-*'])} {operation}")
            for user in self.users
            for kind, operation in needed
            if self.random.random() < 0.6
        ]
        self.give(*chosen, self._some_acl())

    def change(self) -> None:
        """Give an ACL or two, or take one away."""
        if self.given and self.random.random() < 0.35:
            self.take(self.given.pop(self.random.randrange(len(self.given))))
            return
        self.give(*(self._some_acl() for _ in range(self.random.choice([1, 1, 2]))))

    def give(self, *given: Given) -> None:
        self.steps += (*harness(create_acls(*(grant(acl.text, f"User:{acl.user}") for acl in given))), *IN_FORCE)
        self.given += [acl for acl in given if acl not in self.given]

    def take(self, given: Given) -> None:
        acl = grant(given.text, f"User:{given.user}")
        exact = {
            "resource_type_filter": acl["resource_type"],
            "resource_name_filter": acl["resource_name"],
            "pattern_type_filter": acl["resource_pattern_type"],
            "principal_filter": acl["principal"],
            "host_filter": acl["host"],
            "operation": acl["operation"],
            "permission_type": acl["permission_type"],
        }
        self.steps += (*harness(request(_DELETE_ACLS, 3, {"filters": [exact]})), *IN_FORCE)

    def _some_acl(self) -> Given:
        kind = self.random.choice(_KINDS)
        operation = self.random.choice(_OPERATIONS[kind])
        user = self.random.choice([*self.users, *self.users, _EVERYBODY])
        if kind == "CLUSTER":
            return Given(self.random.choice(self.users), f"CLUSTER kafka-cluster {operation}")
        name = self.random.choice([self.random.choice(self._names(kind)), f"{self.name}-*"])
        sign = "-" if self.random.random() < 0.25 else ""
        host = self.random.choice(["", "", "", " 127.0.0.1", " 127.0.0.0/8", " 10.0.0.1"])
        return Given(user, f"{sign}{kind} {name} {operation}{host}")

    def _names(self, kind: str) -> list[str]:
        topics = [topic.name for topic in self.topics]
        return {"TOPIC": topics, "GROUP": self.groups, "TRANSACTIONAL_ID": [self.transaction]}[kind]

    def may(self, user: str, kind: str, name: str, operation: str) -> bool:
        """Guess whether this is allowed."""
        texts = [acl.text for acl in self.given if acl.user in (user, _EVERYBODY)]
        texts = [text for text in texts if _matches(text, kind, name) and not text.endswith("10.0.0.1")]
        wanted = {operation, "ALL"}
        if any(text.startswith("-") and text.split(" ")[2] in wanted for text in texts):
            return False
        if operation == "DESCRIBE":
            wanted |= set(_IMPLY_DESCRIBE)
        return any(not text.startswith("-") and text.split(" ")[2] in wanted for text in texts)


def _matches(text: str, kind: str, name: str) -> bool:
    of, named = text.removeprefix("-").split(" ")[:2]
    return of == kind and (name.startswith(named[:-1]) if named.endswith("*") else name == named)

"""The user that an ACL is about: several users, `User:*`, super users and addresses, on one topic.

Theory   Each user writes a record to the topic and reads it, in the order of the letters. "admin" is the super user.
"""

from __future__ import annotations

from conformance.frames import batch, fetch, produce
from conformance.scenario import Case, ReadLog, Step, Topic
from conformance.security.user_steps import SUPER_USER, asks, grants, login, user, user_case

_ALICE, _BOB = "User:alice", "User:bob"  # the users of the case with these letters
_EVERYBODY = "User:*"
_ELSEWHERE = "127.9.9.9"  # an address of the loopback
_WRITE, _READ = "TOPIC {topic} WRITE", "TOPIC {topic} READ"
_DECISIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "nothing": (),
    "one-writes-one-reads": ((_ALICE, _WRITE), (_BOB, _READ)),
    "everybody": ((_EVERYBODY, f"{_WRITE}; {_READ}"),),
    "everybody-but-one": ((_EVERYBODY, f"{_WRITE}; {_READ}"), (_ALICE, f"-{_WRITE}")),
    "nobody-although-allowed": ((_ALICE, f"{_WRITE}; {_READ}"), (_EVERYBODY, "-TOPIC {topic} ALL")),
    "denied-by-a-prefix": ((_ALICE, f"{_WRITE}; {_READ}"), (_ALICE, "-TOPIC users-dec* WRITE")),
    "allowed-by-a-prefix": (
        (_BOB, "TOPIC users-decisions-allowed-by* READ"),
        (_ALICE, "TOPIC users-decisions-al* WRITE"),
    ),
    "denied-everywhere": ((_ALICE, f"{_WRITE}; {_READ}; -TOPIC * READ"), (_BOB, f"TOPIC * READ; -{_WRITE}")),
    "all-but-read": ((_ALICE, f"TOPIC {{topic}} ALL; -{_READ}"), (_BOB, f"TOPIC {{topic}} ALL; -{_WRITE}")),
    "denied-describe": ((_ALICE, f"{_READ}; -TOPIC {{topic}} DESCRIBE"), (_BOB, f"{_WRITE}; {_READ}")),
    "from-elsewhere": ((_ALICE, f"{_WRITE} {_ELSEWHERE}; {_READ} {_ELSEWHERE}"), (_BOB, f"{_WRITE} 127.0.0.0/8")),
    "not-from-elsewhere": (
        (_ALICE, f"{_WRITE}; {_READ}; -{_WRITE} {_ELSEWHERE}"),
        (_BOB, f"{_READ}; -{_READ} 127.0.0.1"),
    ),
    "super-user-denied": ((f"User:{SUPER_USER}", "-TOPIC {topic} ALL"), (_EVERYBODY, f"-{_READ}")),
    "another-type": (("Group:alice", f"{_WRITE}; {_READ}"), ("Group:*", f"{_WRITE}; {_READ}")),
    "another-case": (("User:ALICE", f"{_WRITE}; {_READ}"), ("User:bob ", f"{_WRITE}; {_READ}")),
    "part-of-a-name": (("User:ali", f"{_WRITE}; {_READ}"), ("User:bob*", f"{_WRITE}; {_READ}")),
}


def _case(what: str, given: tuple[tuple[str, str], ...]) -> Case:
    name = f"users-decisions/{what}"
    topic = Topic(f"users-decisions-{what}")
    own = {f"User:{letter}": f"User:{user(letter, name)}" for letter in ("alice", "bob")}
    made = [(own.get(principal, principal), texts.format(topic=topic.name)) for principal, texts in given]
    steps: tuple[Step, ...] = grants(*made) if made else ()
    steps += login(user("alice", name), "elsewhere", host=_ELSEWHERE) + login(SUPER_USER, "admin")
    for conn in ("alice", "bob", "elsewhere", "admin"):
        steps += asks(conn, produce(topic.name, batch(conn.encode())), fetch(topic.name))
    why = "; ".join(f"{principal} {texts}" for principal, texts in given) or "no ACL"
    return user_case(
        name, f"StandardAuthorizerData: {why}", {"alice": "", "bob": ""}, *steps, ReadLog(topic.name), topics=(topic,)
    )


CASES: list[Case] = [_case(what, given) for what, given in _DECISIONS.items()]

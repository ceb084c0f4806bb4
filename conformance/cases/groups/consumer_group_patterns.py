"""ConsumerGroupHeartbeat: members that are subscribed by pattern. What a pattern matches is looked up after the
request, so there is a pause before what comes of it."""

from __future__ import annotations

from conformance.consumer_group_frames import describe, heartbeat, join, one_by_one
from conformance.scenario import AwaitCoordinator, Case, Pause, Step, Topic

_BOX = "consumer-groups"
_LOOKED_UP = Pause(300)

# Wrong, and right where another language might say otherwise: RE2J 1.8.
_WRONG = (
    *("(", ")", "[", "]", "*", "+a", "a**", "a++", "a{1001}", "a{2,1}", "\\", "[z-a]", "[[:foo:]]", "\\8", "\\pX"),
    *("\\C", "(?=a)", "(?!a)", "(?<=a)", "(?P<n", "(?P<1>a)", "(?P<n>a)(?P<n>b)", "(?<n>a)", "(?z)", "(?", "(?i"),
    *("\\Q(", "a{,2}", "x{1000}{1000}", "[a", "[^]", "(a", "a)", "|", "\\k<n>", "\\G", "(?>a)", "\\u0061", "[a&&b]"),
    *("a{-1}", "\\x{110000}"),
)
_MATCHING = ("cgp-0-.", "cgp-1", "(?i)CGP-2-A", "cgp-3-[a-c]|x", "", ".*gp-5-a$")


def _case(what: str, why: str, *steps: Step, topics: tuple[Topic, ...] = ()) -> Case:
    return Case(f"consumer-pattern/{what}", why, (AwaitCoordinator("warm"), *steps), topics, box=_BOX)


def _languages() -> Case:
    return _case(
        "language",
        "patterns that RE2/J accepts, and its messages for others",
        *one_by_one(*(join(f"cgp-language-{number}", "m", regex=regex) for number, regex in enumerate(_WRONG))),
    )


def _matches(number: int, regex: str) -> Case:
    group = f"cgp-matches-{number}"
    return _case(
        f"matches-{number}",
        "patterns match whole names; members get topics only after the pattern is resolved",
        *one_by_one(join(group, "m", regex=regex)),
        _LOOKED_UP,
        *one_by_one(heartbeat(group, "m", 1), heartbeat(group, "m", 2), describe(group)),
        topics=(Topic(f"cgp-{number}-a", partitions=2),),
    )


def _changes() -> Case:
    group, first, second = "cgp-changes", "cgp-changes-1", "cgp-changes-2"
    return _case(
        "changes",
        "a subscription changes from a pattern to another, to names, and to nothing",
        *one_by_one(join(group, "a", regex="cgp-changes-1")),
        _LOOKED_UP,
        *one_by_one(
            heartbeat(group, "a", 1),
            heartbeat(group, "a", 2, regex="cgp-changes-1"),
            heartbeat(group, "a", 2, regex="("),
            heartbeat(group, "a", 2, regex=""),
            heartbeat(group, "a", 2, owned={}),
            describe(group),
            heartbeat(group, "a", 3, topics=[second]),
            describe(group),
            heartbeat(group, "a", -1),
            describe(group),
        ),
        topics=(Topic(first, partitions=2), Topic(second, partitions=2)),
    )


def _shared() -> Case:
    group, topic = "cgp-shared", "cgp-shared-topic"
    return _case(
        "shared",
        "the second member with a pattern gets its topics at once; the pattern is removed with its last member",
        *one_by_one(join(group, "a", regex="cgp-shared-.*")),
        _LOOKED_UP,
        *one_by_one(
            heartbeat(group, "a", 1),
            join(group, "b", regex="cgp-shared-.*"),
            describe(group),
            heartbeat(group, "a", 2),
            heartbeat(group, "a", 2, owned={topic: [0]}),
            heartbeat(group, "b", 3),
            heartbeat(group, "a", -1),
            heartbeat(group, "b", 3),
            describe(group),
            heartbeat(group, "b", -1),
            describe(group),
        ),
        topics=(Topic(topic, partitions=2),),
    )


def _beside_names() -> Case:
    group, first, second = "cgp-beside", "cgp-beside-1", "cgp-beside-2"
    return _case(
        "beside-names",
        "names and a pattern in one subscription",
        *one_by_one(join(group, "a", first, regex="cgp-beside-2")),
        _LOOKED_UP,
        *one_by_one(
            heartbeat(group, "a", 2),
            describe(group),
            heartbeat(group, "a", 3, topics=[]),
            heartbeat(group, "a", 3, owned={second: [0]}),
            describe(group),
        ),
        topics=(Topic(first, partitions=1), Topic(second, partitions=1)),
    )


def _nothing_said() -> Case:
    group, topic = "cgp-nothing", "cgp-nothing-topic"
    return _case(
        "with-nothing",
        "a member without a subscription next to a member with a pattern counts as subscribed in the same way",
        *one_by_one(join(group, "a", regex="cgp-nothing-.*")),
        _LOOKED_UP,
        *one_by_one(
            join(group, "b"),
            describe(group),
            heartbeat(group, "a", 1),
            heartbeat(group, "b", 2),
            describe(group),
        ),
        topics=(Topic(topic, partitions=3),),
    )


CASES: list[Case] = [
    _languages(),
    *(
        _matches(n, regex)
        for n, regex in enumerate(("cgp-0-.", "cgp-1", "(?i)CGP-2-A", "cgp-3-[a-c]|x", "", ".*gp-5-a$"))
    ),
    _changes(),
    _shared(),
    _beside_names(),
    _nothing_said(),
]

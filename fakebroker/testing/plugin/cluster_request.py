"""The request of a test for its cluster: `@pytest.mark.kafka(...)`, with pytest's settings as defaults.

Theory   For each argument the nearest value counts: of the function, the class, the module, the settings. `configs` are
         merged, setting by setting.
Errors   ClusterRequestError: one sentence with the argument, what is wrong with it, and what would be right.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fakebroker.spelling import did_you_mean

# Arguments of the marker -> arguments of `FakeCluster`.
_OF_CLUSTER = {
    "acls": "acls",
    "brokers": "brokers",
    "clock": "clock",
    "configs": "config",
    "defaults": "defaults",
    "features": "features",
    "life": "life",
    "listeners": "listeners",
    "racks": "racks",
    "schedule": "schedule",
    "seed": "seed",
    "users": "users",
}
ARGUMENTS = sorted({*_OF_CLUSTER, "faults", "followers", "topics", "unfired"})
UNFIRED = ("fails", "allowed")

_TOPIC = {"partitions", "replication_factor", "configs", "assignments"}  # arguments of create_topic()
_TOPICS_FORM = 'topics={"orders": 3} or {"orders": {"partitions": 3, "configs": {"min.insync.replicas": 2}}}'


class ClusterRequestError(Exception):
    """An invalid argument of the user."""


@dataclass(frozen=True)
class TopicArguments:
    """A topic, with the arguments of create_topic()."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class ClusterRequest:
    """A request for a cluster. `arguments` are those of `FakeCluster`. `followers` has behaviours by topic; "" means
    all. `allows_unfired`: a fault that never fired does not fail the test."""

    arguments: dict[str, Any] = field(default_factory=dict)
    topics: tuple[TopicArguments, ...] = ()
    followers: Mapping[str, str] = field(default_factory=dict)
    faults: tuple[Any, ...] = ()
    allows_unfired: bool = False


def read_markers(
    markers: Iterable[tuple[Sequence[Any], Mapping[str, Any]]], beneath: Mapping[str, Any]
) -> ClusterRequest:
    """Return the request of these markers, nearest first, with the settings (`beneath`) as defaults."""
    said: dict[str, Any] = {}
    configs: dict[str, Any] = {}
    for positional, named in [*markers, ((), beneath)]:
        if positional:
            raise ClusterRequestError(f"its arguments need names, as in brokers=3: {positional[0]!r} has none")
        for name, value in named.items():
            if name not in ARGUMENTS:
                raise ClusterRequestError(f"it has no argument {name!r}; {did_you_mean(name, ARGUMENTS)}")
            if name == "configs":
                if not isinstance(value, Mapping):
                    raise ClusterRequestError(
                        f'configs must be a mapping, as in {{"message.max.bytes": 500}}, not {value!r}'
                    )
                configs = {**value, **configs}
            else:
                said.setdefault(name, value)
    if isinstance(said.get("listeners"), str):
        configs.setdefault("listeners", _setting(said.pop("listeners")))
    arguments = {_OF_CLUSTER[name]: value for name, value in said.items() if name in _OF_CLUSTER}
    if configs:
        arguments["config"] = configs
    return ClusterRequest(
        arguments,
        tuple(_topics(said.get("topics", ()))),
        _followers(said.get("followers", {})),
        _faults(said.get("faults", ())),
        _allows_unfired(said.get("unfired", UNFIRED[0])),
    )


def _setting(listeners: str) -> str:
    """Return the text of `listeners` if it is Kafka's setting of that name."""
    if "://" not in listeners:
        raise ClusterRequestError(f'listeners must be a list of texts, as in ["SASL_SSL"], not {listeners!r}')
    return listeners


def _topics(topics: Any) -> Iterable[TopicArguments]:
    if isinstance(topics, str):
        topics = [topics]
    if isinstance(topics, Mapping):
        return [_topic(name, of) for name, of in topics.items()]
    if isinstance(topics, Iterable):
        return [topic if isinstance(topic, TopicArguments) else _topic(topic, {}) for topic in topics]
    raise ClusterRequestError(f"{_TOPICS_FORM}, not topics={topics!r}")


def _topic(name: Any, of: Any) -> TopicArguments:
    if not isinstance(name, str):
        raise ClusterRequestError(f"the name of a topic must be a string: {_TOPICS_FORM}, not {name!r}")
    if ":" in name:  # the form of --topic and of the ini option
        head, _, rest = name.partition(":")
        right = f'topics={{"{head}": {rest}}}' if rest.isdecimal() else _TOPICS_FORM
        raise ClusterRequestError(f"Topic name is invalid: {name!r} has a colon; write {right}")
    if isinstance(of, int) and not isinstance(of, bool):
        return TopicArguments(name, {"partitions": of})
    if not isinstance(of, Mapping):
        raise ClusterRequestError(
            f"topic {name!r} needs a number of partitions, or a mapping: {_TOPICS_FORM}, not {of!r}"
        )
    for key in of:
        if key not in _TOPIC:
            meant = did_you_mean(key, sorted(_TOPIC))
            raise ClusterRequestError(
                f"topic {name!r} has no {key!r}; {meant} (settings of the topic go into its 'configs')"
            )
    return TopicArguments(name, dict(of))


def _followers(followers: Any) -> Mapping[str, str]:
    if isinstance(followers, str):
        return {"": followers}
    if isinstance(followers, Mapping) and all(
        isinstance(topic, str) and isinstance(what, str) for topic, what in followers.items()
    ):
        return followers
    raise ClusterRequestError(
        f'followers must be "frozen" for all topics, or {{"orders": "frozen"}} for one, not {followers!r}'
    )


def _faults(faults: Any) -> tuple[Any, ...]:
    if isinstance(faults, Iterable) and not isinstance(faults, str | Mapping):
        return tuple(faults)
    raise ClusterRequestError(f"faults must be a list, not {faults!r}")


def _allows_unfired(unfired: Any) -> bool:
    if unfired not in UNFIRED:
        raise ClusterRequestError(
            f'unfired must be "fails" or "allowed", for a fault that never fired, not {unfired!r}'
        )
    return bool(unfired == UNFIRED[1])

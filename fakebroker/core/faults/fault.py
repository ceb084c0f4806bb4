"""A fault: selectors, actions, number of times. A value, the same in Python, JSON and YAML.

    Fault(when={"api": "Produce", "topic": "t"}, do="NOT_ENOUGH_REPLICAS")
    Fault(when={"api": "Produce", "at": "after_append"}, do="disconnect", times="once")
    Fault.from_json({"when": {"api": "Fetch", "partition": 2}, "do": [{"delay": 100}, "reset"], "times": 3})

Source   kfake's Fault (franz-go). Its flat names are understood too: {"keys": [0], "topic": "t", "err":
         "NOT_ENOUGH_REPLICAS", "count": 0}. The points, and the rules for valid faults, are in check.py.
Errors   ValueError in one sentence that names the key, the problem, and a valid value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from fakebroker.core.faults import reading
from fakebroker.core.faults.actions import Action
from fakebroker.core.faults.check import check, usual_point
from fakebroker.core.faults.times import Times, once
from fakebroker.core.faults.verbs import read_actions
from fakebroker.core.faults.when import ALIASES, NAMES, When, as_when

_KEYS: Final = ("when", "do", "times", "force")
_OTHER_KEYS: Final = {"err": "do", "error": "do", "action": "do", "count": "times"}


@dataclass(frozen=True)
class Fault:
    """A fault.

    when    the requests, and the point; a When, or a mapping of one
    do      an action, or several in order; an Action, a verb, an error, {verb: value}, or a list of these
    times   how often: "once" (the default), 3, "every_time", or a Times
    force   allow an error also where Kafka does not have it
    """

    when: When
    do: tuple[Action, ...]
    times: Times
    force: bool = False

    def __init__(
        self,
        when: When | Mapping[str, Any] | None = None,
        do: Any = None,
        times: Times | str | int | Mapping[str, Any] = once,
        force: bool = False,
    ) -> None:
        if do is None:
            raise ValueError(
                "a fault needs its 'do': an error, as in 'NOT_ENOUGH_REPLICAS', or a verb, as in 'disconnect'"
            )
        actions = read_actions(do)
        wanted = as_when(when)
        at = wanted.at or usual_point(wanted, actions)
        object.__setattr__(self, "when", replace(wanted, at=at))
        object.__setattr__(self, "do", actions)
        object.__setattr__(self, "times", Times.read(times))
        object.__setattr__(self, "force", reading.flag(force, "'force'"))
        check(self.when, actions, force)

    @classmethod
    def from_json(cls, value: object) -> Fault:
        """Read the result of `to_json`, or JSON from a user. Raise ValueError."""
        given = dict(reading.mapping(value, "a fault"))
        made: dict[str, Any] = {}
        flat = {key: given.pop(key) for key in list(given) if key in NAMES or key in ALIASES}
        if "top_level" in given:
            raise ValueError("a fault has no 'top_level': use {'error': {'error': NAME, 'level': 'top'}}")
        reading.refuse_unknown(given, (*_KEYS, *_OTHER_KEYS), "a fault")
        for key, item in given.items():
            name = _OTHER_KEYS.get(key, key)
            if name in made:
                raise ValueError(f"a fault has {name!r} twice: as {key!r} and under another name")
            made[name] = Times.from_count(item) if key == "count" else item
        if flat:
            if "when" in made:
                raise ValueError(f"{next(iter(flat))!r} of a fault with a 'when' belongs into the 'when'")
            made["when"] = flat
        if "predicate" in flat or (isinstance(made.get("when"), Mapping) and "predicate" in made["when"]):
            raise ValueError("'predicate' works in Python only: JSON has no functions")
        return cls(**made)

    def to_json(self) -> dict[str, Any]:
        """Return a mapping of plain values. Raise ValueError if there is a predicate."""
        do = [action.to_json() for action in self.do]
        said: dict[str, Any] = {"when": self.when.to_json(), "do": do[0] if len(do) == 1 else do}
        if self.times != once:
            said["times"] = self.times.to_json()
        if self.force:
            said["force"] = True
        return said

    def __str__(self) -> str:
        """Return a description: actions, point, selectors."""
        named = {name: getattr(self.when, name) for name in NAMES if getattr(self.when, name) != getattr(_ANY, name)}
        at = named.pop("at")
        whom = ", ".join(f"{name}={_brief(value)}" for name, value in named.items())
        return f"{', '.join(map(str, self.do))} {at}{' of ' + whom if whom else ''}"


_ANY: Final = When()


def _brief(value: object) -> str:
    if isinstance(value, tuple) and len(value) == 1:
        return str(value[0])
    return reading.shown(value) if callable(value) else str(value)


def as_fault(
    fault: Fault | None = None,
    when: Any = None,
    do: Any = None,
    times: Any = None,
    force: bool = False,
) -> Fault:
    """Return the fault of the arguments of `kafka.faults.add`: a Fault, or its parts. Raise ValueError."""
    if fault is None:
        return Fault(when, do, once if times is None else times, force)
    if when is not None or do is not None or times is not None or force:
        raise ValueError("give a Fault, or its parts (when, do, times, force), not both")
    return fault if isinstance(fault, Fault) else Fault.from_json(cast(object, fault))

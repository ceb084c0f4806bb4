"""The actions of a scenario on the cluster during its load: timed calls of fakebroker's HTTP control.

Shape    An action of a scenario has a time and one verb: `{at_ms: 2000, stop: 3}`. `calls_of` returns its calls to the
         control. `ScenarioActor` makes them, and in the end undoes their effects.
Theory   All requests have a common start, on which the tasks agree. The driver learns of it over a second in advance,
         and does each action at its time, one after the other. `run.json` has the actions and their times. If the
         control refuses an action, the run differs from the scenario, and is given up.
Units    milliseconds after the common start.
Errors   LoadScenarioError for an invalid action; ControlCallError for calls that the control refuses.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from fakebroker_load.control import ControlCallError
from fakebroker_load.scenario.model import LoadScenario, LoadScenarioError

Ask = Callable[[str, str, Mapping[str, Any] | None], Any]  # method, path, body -> the response
BROKER_VERBS: Final = ("stop", "kill", "start", "pause", "resume")
VERBS: Final = (*BROKER_VERBS, "followers", "leader", "configs", "quota", "fault")
_ENTITY: Final = ("user", "client_id", "ip")
_BACK: Final = {"stopping": "start", "stopped": "start", "killed": "start", "paused": "resume"}  # by its state
Entity = tuple[tuple[str, Any], ...]


class ControlCall(NamedTuple):
    """One request to the control."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None


class DoneAction(NamedTuple):
    """An action that was done: when it should have begun, when it began, and when the control had responded."""

    what: str
    at_ms: int
    begun_ms: int
    ended_ms: int


def check_action(action: Mapping[str, Any], topics: Mapping[str, int]) -> None:
    """Raise LoadScenarioError for an invalid action."""
    verbs = [key for key in action if key != "at_ms"]
    if len(verbs) != 1 or verbs[0] not in VERBS:
        raise LoadScenarioError(f"An action has a time, at_ms, and one of {', '.join(VERBS)}.")
    if type(action.get("at_ms")) is not int or action["at_ms"] < 0:
        raise LoadScenarioError(
            f"An action needs at_ms, milliseconds after the start, and not {action.get('at_ms')!r}."
        )
    [verb] = verbs
    given = action[verb]
    if verb in BROKER_VERBS:
        if type(given) is not int:
            raise LoadScenarioError(f"The action {verb} needs a broker's id, and not {given!r}.", verb)
        return
    if not isinstance(given, Mapping):
        raise LoadScenarioError(f"The action {verb} needs a mapping, and not {given!r}.", verb)
    named = list(given) if verb == "configs" else [given["topic"]] if "topic" in given else []
    if verb in ("followers", "leader") and not named:
        raise LoadScenarioError(f"The action {verb} needs a topic.", verb)
    for topic in named:
        if topic not in topics:
            raise LoadScenarioError(f"The action {verb} names the topic {topic!r}, to which no group sends.", verb)
    if verb == "leader" and not {"partition", "broker"} <= set(given):
        raise LoadScenarioError("The action leader needs a topic, a partition and the broker that is to lead.", verb)


def verb_of(action: Mapping[str, Any]) -> str:
    return next(key for key in action if key != "at_ms")


def renamed(action: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return the action with the topics renamed."""
    verb = verb_of(action)
    given = action[verb]
    if verb == "configs":
        return {**action, verb: {names[topic]: settings for topic, settings in given.items()}}
    if verb in ("followers", "leader"):
        return {**action, verb: {**given, "topic": names[given["topic"]]}}
    when = given.get("when") if verb == "fault" else None
    if isinstance(when, Mapping) and when.get("topic") in names:
        return {**action, verb: {**given, "when": {**when, "topic": names[when["topic"]]}}}
    return dict(action)


def calls_of(action: Mapping[str, Any]) -> list[ControlCall]:
    """Return the calls to the control."""
    verb = verb_of(action)
    given = action[verb]
    if verb in BROKER_VERBS:
        return [ControlCall("POST", f"/v1/brokers/{given}/{verb}")]
    if verb == "leader":
        place = f"{quote(given['topic'], safe='')}/{given['partition']}"
        return [ControlCall("PUT", f"/v1/partitions/{place}/leader", {"broker": given["broker"]})]
    if verb == "configs":
        return [
            ControlCall("PUT", f"/v1/topics/{quote(topic, safe='')}/configs", {"configs": dict(settings)})
            for topic, settings in given.items()
        ]
    if verb == "quota":
        return [ControlCall("PUT", "/v1/quotas", given)]
    return [
        ControlCall("PUT", "/v1/followers", given) if verb == "followers" else ControlCall("POST", "/v1/faults", given)
    ]


class ScenarioActor:
    """An actor that does a scenario's actions at their times, and undoes those that must not outlive the run."""

    def __init__(self, ask: Ask, scenario: LoadScenario) -> None:
        self._ask = ask
        self._actions = sorted(scenario.actions, key=lambda action: int(action["at_ms"]))
        self._faults: list[int] = []
        self._stop = threading.Event()
        self.done: list[DoneAction] = []
        self.error: ControlCallError | None = None

    @contextmanager
    def acting(self, start_ns: Callable[[float], int | None]) -> Iterator[None]:
        """Do the actions in a thread during the block. `start_ns(seconds)` waits up to this long for the common start,
        on the clock of time.monotonic_ns. In the end, raise ControlCallError if the control refused an action."""
        states, quotas = self._states(), self._quotas()
        thread = threading.Thread(target=self._act, args=(start_ns,), name="actions", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()
            self._take_back(states, quotas)
        if self.error is not None:
            raise self.error
        for action in self._actions[len(self.done) :]:
            when = f"{action['at_ms']:,} ms"
            print(f"fakebroker-load: not done, since the load had ended by {when}: {_words(action)}", file=sys.stderr)

    def _act(self, start_ns: Callable[[float], int | None]) -> None:
        start = None
        while start is None and not self._stop.is_set():
            start = start_ns(0.1)
        if start is None:
            return
        for action in self._actions:
            left_s = action["at_ms"] / 1000 - (time.monotonic_ns() - start) / 1e9
            if self._stop.wait(max(left_s, 0)):
                return
            begun_ms = (time.monotonic_ns() - start) // 1_000_000
            try:
                for call in calls_of(action):
                    answer = self._ask(*call)
                    if call.path == "/v1/faults":
                        self._faults.append(answer["id"])
            except (ControlCallError, KeyError, TypeError) as error:
                self.error = ControlCallError(f"{error} It was to be done at {action['at_ms']:,} ms: {_words(action)}.")
                return
            ended_ms = (time.monotonic_ns() - start) // 1_000_000
            self.done.append(DoneAction(_words(action), action["at_ms"], begun_ms, ended_ms))

    def _states(self) -> dict[int, str]:
        """Return the states of the brokers in the actions."""
        touched = {action[verb] for action in self._actions for verb in BROKER_VERBS if verb in action}
        if not touched:
            return {}
        brokers = self._ask("GET", "/v1/brokers", None)["brokers"]
        return {broker["id"]: broker["state"] for broker in brokers if broker["id"] in touched}

    def _quotas(self) -> dict[Entity, dict[str, float]]:
        """Return the quotas of the users, client ids and addresses in the actions."""
        touched = {_entity(action["quota"]) for action in self._actions if "quota" in action}
        if not touched:
            return {}
        quotas = {_entity(entry["entity"]): entry["quotas"] for entry in self._ask("GET", "/v1/quotas", None)["quotas"]}
        return {entity: quotas.get(entity, {}) for entity in touched}

    def _take_back(self, states: Mapping[int, str], quotas: Mapping[Entity, dict[str, float]]) -> None:
        """Undo every effect, whether or not its call got a response. Topics belong to the run, and are deleted with
        their settings."""
        for fault in self._faults:
            self._undo("DELETE", f"/v1/faults/{fault}")
        with self._told():
            for broker, state in self._states().items():
                if states.get(broker) == "running" and state in _BACK:
                    self._undo("POST", f"/v1/brokers/{broker}/{_BACK[state]}")
            for entity, values in self._quotas().items():
                before = quotas[entity]
                if values != before:
                    self._undo("DELETE", "/v1/quotas", dict(entity))
                    if before:
                        whole = {name: int(value) if value == int(value) else value for name, value in before.items()}
                        self._undo("PUT", "/v1/quotas", dict(entity) | whole)  # the control refuses 5.0 for bytes

    def _undo(self, *call: Any) -> None:
        with self._told():
            self._ask(*ControlCall(*call))

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Only warn if something cannot be undone: the measurement is still valid."""
        try:
            yield
        except ControlCallError as error:
            print(f"fakebroker-load: the cluster is not as it was: {error}", file=sys.stderr)


def _entity(given: Mapping[str, Any]) -> Entity:
    """Return the entity of a quota, by the names in the control's requests or in its responses."""
    names = {name.replace("_", "-"): name for name in _ENTITY}
    by_name = {names.get(name, name): value for name, value in given.items()}
    return tuple((name, by_name[name]) for name in _ENTITY if name in by_name)


def _words(action: Mapping[str, Any]) -> str:
    verb = verb_of(action)
    given = action[verb]
    if verb in BROKER_VERBS:
        return f"{verb} broker {given}"
    return f"{verb} " + ", ".join(f"{key}: {value}" for key, value in given.items())

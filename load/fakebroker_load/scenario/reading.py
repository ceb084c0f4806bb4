"""The reading of scenarios: YAML files, and those that come with this package.

Errors   LoadScenarioError: one sentence with file, line and key, and the right form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from importlib import resources
from pathlib import Path
from typing import Any

from fakebroker.spelling import closest
from fakebroker.yaml_places import BadYaml, read
from fakebroker_load.arrivals import parse_arrivals, read_trace
from fakebroker_load.scenario.actions import check_action
from fakebroker_load.scenario.batches import parse_beside
from fakebroker_load.scenario.limits import parse_latency_limits
from fakebroker_load.scenario.model import (
    DEFAULT_LATENESS_LIMIT_MS,
    DEFAULT_SEND_DELAY_LIMIT_MS,
    LoadScenario,
    LoadScenarioError,
    RequestGroup,
)
from fakebroker_load.scenario.reads import READERS

FOLDER = resources.files("fakebroker_load") / "scenarios"
SUFFIX = ".yaml"
KEYS = (
    *("name", "about", "groups", "brokers", "configs", "followers", "assignments", "actions"),
    *("send_delay_limit_ms", "lateness_limit_ms"),
)
PARSED: dict[str, Callable[[Any], object]] = {
    "arrivals": parse_arrivals,
    "beside": parse_beside,
    "latency_limit_ms": parse_latency_limits,
}
KINDS: dict[str, type] = {"str": str, "bool": bool, "int": int}
KIND_NAMES = {str: "a text", bool: "true or false", int: "a whole number"}


def bundled() -> list[str]:
    """Return the names of the scenarios that come with this package."""
    return sorted(entry.name.removesuffix(SUFFIX) for entry in FOLDER.iterdir() if entry.name.endswith(SUFFIX))


def load_scenario(name_or_path: str) -> LoadScenario:
    """Return the bundled scenario of that name, or the one in that file. Raises LoadScenarioError."""
    if name_or_path in bundled():
        text = (FOLDER / f"{name_or_path}{SUFFIX}").read_text(encoding="utf-8")
    else:
        try:
            text = Path(name_or_path).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise LoadScenarioError(
                f"There is no scenario {name_or_path!r}: neither a file nor one of {', '.join(bundled())}."
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise LoadScenarioError(f"The scenario file {name_or_path!r} cannot be read: {error}.") from error
        if name_or_path.endswith(".toml"):
            raise LoadScenarioError(
                f"The scenario file {name_or_path!r} is TOML; scenarios are YAML now, with the same keys: "
                "write each [[groups]] as an item of the list `groups:`."
            )
    return parse_text(text, name_or_path)


def parse_text(text: str, file: str) -> LoadScenario:
    """Return the scenario in a text; `file` is its name in messages."""
    try:
        document = read(text, keys=str)
    except BadYaml as error:
        line = error.place.line if error.place else 1
        raise LoadScenarioError(f"{file}:{line}: {error}.") from error
    try:
        return parse_scenario(document.value)
    except LoadScenarioError as error:
        raise LoadScenarioError(f"{file}:{document.place(error.path).line}: {error}", *error.path) from error


def parse_scenario(data: object) -> LoadScenario:
    """Return the scenario in the content of a YAML file: `name`, `about` and a list `groups`."""
    if not isinstance(data, Mapping):
        raise LoadScenarioError("A scenario is a mapping with the keys name, about and groups.")
    refuse_unknown("A scenario", data, KEYS)
    groups = data.get("groups")
    if not isinstance(groups, list):
        raise LoadScenarioError("A scenario needs its groups, as a list.", "groups")
    for key in ("name", "about"):
        if not isinstance(data.get(key, ""), str):
            raise LoadScenarioError(f"A scenario has {key} = {data[key]!r}, which is not a text.", key)
    brokers, configs, followers = data.get("brokers", 1), data.get("configs", {}), data.get("followers", [])
    send_delay_ms = data.get("send_delay_limit_ms", DEFAULT_SEND_DELAY_LIMIT_MS)
    lateness_ms = data.get("lateness_limit_ms", DEFAULT_LATENESS_LIMIT_MS)
    for key, number in (
        ("brokers", brokers),
        ("send_delay_limit_ms", send_delay_ms),
        ("lateness_limit_ms", lateness_ms),
    ):
        if type(number) is not int:
            raise LoadScenarioError(f"A scenario has {key} = {number!r}, which is not a whole number.", key)
    if not isinstance(configs, Mapping) or not all(isinstance(settings, Mapping) for settings in configs.values()):
        raise LoadScenarioError("configs is a mapping of topics to their settings, by Kafka's names.", "configs")
    if not isinstance(followers, list) or not all(isinstance(rule, Mapping) for rule in followers):
        raise LoadScenarioError("followers is a list of mappings, as in {topic: t, behaviour: frozen}.", "followers")
    assignments, actions = data.get("assignments", {}), data.get("actions", [])
    if not isinstance(assignments, Mapping) or not all(map(is_assignment, assignments.values())):
        raise LoadScenarioError(
            "assignments is a mapping of topics to the broker ids of each partition, as in {t: [[1, 2, 3]]}.",
            "assignments",
        )
    if not isinstance(actions, list) or not all(isinstance(action, Mapping) for action in actions):
        raise LoadScenarioError("actions is a list of mappings, as in {at_ms: 2000, stop: 3}.", "actions")
    parsed = []
    for number, group in enumerate(groups):
        try:
            parsed.append(parse_group(group))
        except LoadScenarioError as error:
            raise LoadScenarioError(str(error), "groups", number, *error.path) from error
    scenario = LoadScenario(
        name=data.get("name", ""),
        about=data.get("about", ""),
        groups=tuple(parsed),
        brokers=brokers,
        send_delay_limit_ms=send_delay_ms,
        lateness_limit_ms=lateness_ms,
        configs=configs,
        followers=tuple(followers),
        assignments=assignments,
        actions=tuple(actions),
    )
    for number, action in enumerate(actions):
        try:
            check_action(action, scenario.topics)
        except LoadScenarioError as error:
            raise LoadScenarioError(str(error), "actions", number, *error.path) from error
    return scenario


def is_assignment(data: object) -> bool:
    """Return True for a list with the broker ids of each partition."""
    return isinstance(data, list) and all(
        isinstance(ids, list) and ids and all(type(broker_id) is int for broker_id in ids) for ids in data
    )


def parse_group(data: object) -> RequestGroup:
    """Return the group in an item of `groups`."""
    if not isinstance(data, Mapping):
        raise LoadScenarioError(f"A group is a mapping, and not {data!r}.")
    who = f"The group {data.get('name', '?')!r}"
    known = {field.name: field for field in fields(RequestGroup)}
    refuse_unknown(who, data, known)
    needed = {name for name, field in known.items() if field.default is field.default_factory is MISSING}
    if data.get("client") in READERS:
        for name in ("acks", "expect"):
            if name in data:
                raise LoadScenarioError(f"{who} is a {data['client']}, and that has no {name}.", name)
        needed -= {"acks", "expect"}
    if missing := needed - set(data):
        raise LoadScenarioError(f"{who} lacks the field {min(missing)}.")
    values = {"acks": -1, "expect": "NONE"} | dict(data)
    for name, value in data.items():
        if parse := PARSED.get(name):
            try:
                values[name] = parse(value)
            except ValueError as error:
                raise LoadScenarioError(f"{who} {error}.", name) from None
            continue
        if name == "also":
            values[name] = parse_shares(who, value)
            continue
        if name == "settings":
            if not isinstance(value, Mapping):
                raise LoadScenarioError(
                    f"{who} has settings = {value!r}; it is a mapping, as in {{linger.ms: 5}}.", name
                )
            continue
        kind = KINDS.get(str(known[name].type).removesuffix(" | None"))
        if kind is not None:
            if type(value) is not kind:
                raise LoadScenarioError(f"{who} has {name} = {value!r}, which is not {KIND_NAMES[kind]}.", name)
            continue
        pair = [value] * 2 if type(value) is int else value
        if not (isinstance(pair, list) and len(pair) == 2 and all(type(number) is int for number in pair)):
            raise LoadScenarioError(
                f"{who} has {name} = {value!r}; it is a number or a range of two, [low, high].", name
            )
        values[name] = tuple(pair)
    group = RequestGroup(**values)
    if group.arrivals is not None and group.arrivals.process == "trace":
        try:
            read_trace(group.arrivals.file, group.requests)
        except ValueError as error:
            raise LoadScenarioError(f"{who} {error}.", "arrivals", "file") from None
    return group


def parse_shares(who: str, data: object) -> dict[str, float]:
    """Return `also`: the largest number per 100 requests, by answer."""
    if not isinstance(data, Mapping):
        raise LoadScenarioError(
            f"{who} has also = {data!r}; it is a mapping, as in {{NOT_LEADER_OR_FOLLOWER: 5}}.", "also"
        )
    for name, share in data.items():
        if type(share) not in (int, float) or not 0 <= share <= 100:
            raise LoadScenarioError(
                f"{who} has also {name}: {share!r}; it is a number of 0 to 100, of 100 requests.", "also", name
            )
    return dict(data)


def refuse_unknown(who: str, data: Mapping[str, object], known: Mapping[str, object] | tuple[str, ...]) -> None:
    """Raise LoadScenarioError for the first unknown key, and suggest a known one."""
    for key in data:
        if key not in known:
            near = closest(key, known)
            right = f"{near[0]!r} may be meant" if near else f"there are {', '.join(known)}"
            raise LoadScenarioError(f"{who} has a field that is not known: {key}; {right}.", key)

"""What to send and what must come back: a scenario is data, written in TOML.

Theory   A scenario is a list of groups. Every request of a group is of one kind, and the group says what its answer
         must be. That expectation is written down before the run and never asked of the broker, so a broker that
         answers everything wrongly in a consistent way fails.
Units    timeout_ms, pause_ms, ramp_ms are milliseconds; record_bytes counts the value of the one record.
Errors   ScenarioError: one sentence that names the group and the field.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from importlib import resources
from pathlib import Path

from fakebroker.protocol.error_code import error_from_name
from fakebroker_load.arrivals import Arrivals, parse_arrivals

NO_ANSWER = "no answer"
MAX_REQUESTS = 1_000_000_000  # correlation ids are of 31 bits
MAX_TIMEOUT_MS = 600_000


class ScenarioError(Exception):
    """The scenario makes no sense; the message is for the user."""


@dataclass(frozen=True, slots=True)
class Group:
    """Requests of one kind. Each connection sends to one partition, and so to that partition's leader."""

    name: str
    topic: str
    acks: int
    expect: str  # the error's name in Kafka, "NONE" included, or "no answer"
    waits: bool = False  # the answer must not come before the timeout is over
    partitions: int = 1
    connections: int = 1
    requests_per_connection: int = 1
    pipelined: int = 1  # how many requests of a connection may be unanswered at a time
    timeout_ms: tuple[int, int] = (30_000, 30_000)  # drawn evenly from this range, both ends included
    pause_ms: int = 0  # from an answer's due time to the next request
    ramp_ms: int = 0  # the connections' first requests are spread over this time
    record_bytes: int = 100
    arrivals: Arrivals | None = None  # the open model: when requests come, whatever is answered; None: closed

    def __post_init__(self) -> None:
        low, high = self.timeout_ms
        for broken, text in (
            (not self.name or not self.topic, "needs a name and a topic"),
            (self.acks not in (-1, 0, 1), f"has acks {self.acks}, which is not one of -1, 0 and 1"),
            (
                (self.acks == 0) != (self.expect == NO_ANSWER),
                f'acks 0 goes with expect = "{NO_ANSWER}", and nothing else does',
            ),
            (self.waits and self.acks != -1, "waits, which only acks -1 does"),
            (
                not 0 <= low <= high <= MAX_TIMEOUT_MS,
                f"has timeout_ms {low} to {high}; both must rise, in 0 to {MAX_TIMEOUT_MS}",
            ),
            (
                min(self.partitions, self.connections, self.requests_per_connection, self.pipelined) < 1,
                "has a count below 1",
            ),
            (min(self.pause_ms, self.ramp_ms, self.record_bytes) < 0, "has a negative time or size"),
            (
                self.arrivals is not None and (self.pause_ms, self.ramp_ms, self.pipelined) != (0, 0, 1),
                "has arrivals, and with them neither pause_ms, ramp_ms nor pipelined",
            ),
            (self.record_bytes > 1_000_000, "has records above 1,000,000 bytes, which a topic refuses by default"),
        ):
            if broken:
                raise ScenarioError(f"The group {self.name!r} {text}.")
        self.expected_error()

    def expected_error(self) -> int | None:
        """The error code that each answer must carry; None: there must be no answer."""
        if self.expect == NO_ANSWER:
            return None
        try:
            return int(error_from_name(self.expect))
        except ValueError as error:
            raise ScenarioError(
                f"The group {self.name!r} expects an error that Kafka does not have: {self.expect}."
            ) from error

    @property
    def requests(self) -> int:
        return self.connections * self.requests_per_connection


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    groups: tuple[Group, ...]
    about: str = ""

    def __post_init__(self) -> None:
        names = [group.name for group in self.groups]
        if not self.name or not names:
            raise ScenarioError("A scenario needs a name and at least one group.")
        if len(set(names)) < len(names):
            raise ScenarioError(f"The scenario {self.name!r} has two groups of one name.")
        if self.requests > MAX_REQUESTS:
            raise ScenarioError(
                f"The scenario {self.name!r} has {self.requests:,} requests; at most {MAX_REQUESTS:,} are allowed."
            )

    @property
    def requests(self) -> int:
        return sum(group.requests for group in self.groups)

    @property
    def connections(self) -> int:
        return sum(group.connections for group in self.groups)

    @property
    def topics(self) -> dict[str, int]:
        """Each topic with the partitions it needs at least."""
        needed: dict[str, int] = {}
        for group in self.groups:
            needed[group.topic] = max(group.partitions, needed.get(group.topic, 0))
        return needed


def bundled() -> list[str]:
    """The names of the scenarios that come with this package."""
    folder = resources.files("fakebroker_load") / "scenarios"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load_scenario(name_or_path: str) -> Scenario:
    """The bundled scenario of that name, or the one in that file."""
    if name_or_path in bundled():
        text = (resources.files("fakebroker_load") / "scenarios" / f"{name_or_path}.toml").read_text(encoding="utf-8")
    else:
        try:
            text = Path(name_or_path).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise ScenarioError(
                f"There is no scenario {name_or_path!r}: neither a file nor one of {', '.join(bundled())}."
            ) from None
        except (OSError, UnicodeDecodeError) as error:
            raise ScenarioError(f"The scenario file {name_or_path!r} cannot be read: {error}.") from error
    try:
        return parse_scenario(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"The scenario file {name_or_path!r} is not TOML: {error}.") from error


def parse_scenario(data: Mapping[str, object]) -> Scenario:
    """A scenario from what a TOML file holds: `name`, `about` and a list `groups`."""
    groups = data.get("groups")
    if unknown := set(data) - {"name", "about", "groups"}:
        raise ScenarioError(f"A scenario has no field {min(unknown)!r}.")
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        raise ScenarioError("A scenario needs its groups, as [[groups]].")
    return Scenario(
        name=str(data.get("name", "")), about=str(data.get("about", "")), groups=tuple(map(parse_group, groups))
    )


def parse_group(data: Mapping[str, object]) -> Group:
    who = f"The group {data.get('name', '?')!r}"
    known = {field.name: field for field in fields(Group)}
    if unknown := set(data) - set(known):
        raise ScenarioError(f"{who} has a field that is not known: {min(unknown)}.")
    if missing := {name for name, field in known.items() if field.default is MISSING} - set(data):
        raise ScenarioError(f"{who} lacks the field {min(missing)}.")
    values = dict(data)
    if isinstance(values.get("timeout_ms"), int):
        values["timeout_ms"] = [values["timeout_ms"]] * 2
    if "arrivals" in values:
        try:
            values["arrivals"] = parse_arrivals(values["arrivals"])
        except ValueError as error:
            raise ScenarioError(f"{who} {error}.") from None
    for name, value in values.items():
        if name == "arrivals":
            continue
        kind = {"str": str, "bool": bool, "int": int}.get(str(known[name].type))
        if kind is None:
            pair = isinstance(value, list) and len(value) == 2 and all(type(number) is int for number in value)
            if not pair:
                raise ScenarioError(f"{who} has {name} = {value!r}; it is a number or a range of two, [low, high].")
            values[name] = tuple(value)  # type: ignore[arg-type]  # a list, as checked
        elif type(value) is not kind:
            raise ScenarioError(f"{who} has {name} = {value!r}, which is not of the type {kind.__name__}.")
    return Group(**values)  # type: ignore[arg-type]  # each value has the type of its field, as checked

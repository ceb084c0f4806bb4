"""A scenario: the definition of a cluster and its initial content, read from a YAML file and checked.

Theory   The schema defines the keys and the types of their values. The cluster checks what the values mean when it uses
         them, and the place in the file is added to its message.
Units    `at_ms` is milliseconds from the start, on the brokers' clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path as FilePath
from typing import Any, Protocol, Self, final

from fakebroker.core.errors import KafkaError
from fakebroker.core.faults.fault import Fault
from fakebroker.core.faults.presets import Preset, read_preset
from fakebroker.server.faults_in_hand import AsyncFaults
from fakebroker.server.followers_in_hand import FollowerBehaviours
from fakebroker.server.quotas_in_hand import Quotas
from fakebroker.server.scenario.checking import problem
from fakebroker.yaml_places import BadYaml, Document, Path, Place, read

_IN_THE_CLUSTER = {"topics", "scripts", "quotas", "faults"}  # all other keys are arguments of FakeCluster


class ClusterSetup(Protocol):
    """The methods that set up a cluster; `AsyncFakeCluster` has them."""

    @property
    def followers(self) -> FollowerBehaviours: ...
    @property
    def quotas(self) -> Quotas: ...
    @property
    def faults(self) -> AsyncFaults: ...
    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication_factor: int = -1,
        configs: Mapping[str, str | int | bool] | None = None,
        assignments: Any = None,
    ) -> None: ...


class ScenarioError(ValueError):
    """A mistake in a scenario file: one sentence, with the file, and with the line and column where they are known.

    source, line, column, key   the place; the key is None if the mistake is not about one
    """

    def __init__(self, sentence: str, source: str, place: Place | None, key: str | None) -> None:
        where = source if place is None else f"{source}, line {place.line}, column {place.column}"
        super().__init__(f"{where}: {sentence}")
        self.source = source
        self.line = None if place is None else place.line
        self.column = None if place is None else place.column
        self.key = key


@final
class Scenario:
    """A checked scenario, made by `read_file` or `from_text`.

    arguments   the arguments of FakeCluster that it contains
    """

    def __init__(self, source: str, document: Document) -> None:
        self._source = source
        self._document = document
        self._said: dict[str, Any] = document.value
        self.arguments = {key: value for key, value in self._said.items() if key not in _IN_THE_CLUSTER}
        if "racks" in self.arguments:
            self.arguments["racks"] = {int(broker_id): rack for broker_id, rack in self._said["racks"].items()}

    @classmethod
    def read_file(cls, path: str | PathLike[str]) -> Self:
        """Read a scenario file. Raises OSError, or ScenarioError."""
        source = str(path)
        try:
            text = FilePath(path).read_text(encoding="utf-8")
        except OSError as error:
            raise OSError(error.errno, f"the scenario file cannot be read: {error.strerror}", source) from None
        except UnicodeDecodeError as error:
            raise ScenarioError(f"this is no UTF-8 text: byte {error.start}", source, None, None) from None
        return cls.from_text(text, source)

    @classmethod
    def from_text(cls, text: str, source: str = "scenario") -> Self:
        """Read a scenario from text; `source` names it in messages. Raises ScenarioError."""
        try:
            document = read(text)
        except BadYaml as error:
            raise ScenarioError(str(error), source, error.place, None) from None
        if document.value is None:
            document = Document({}, {})
        mistake = problem(_with_text_keys(document.value))
        if mistake is not None:
            path, sentence = mistake
            raise _error(sentence, source, document, path)
        scenario = cls(source, document)
        scenario._faults()
        return scenario

    def _faults(self) -> list[Fault | Preset]:
        faults: list[Fault | Preset] = []
        for index, fault in enumerate(self._said.get("faults", ())):
            with self._at("faults", index):
                faults.append(read_preset(fault) if "preset" in fault else Fault.from_json(fault))
        return faults

    def arguments_beneath(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments, with the given ones in their place. A given number of brokers replaces their ids, and
        ids replace the number."""
        arguments: dict[str, Any] = {**self.arguments, **given}
        for name, other in (("brokers", "broker_ids"), ("broker_ids", "brokers")):
            if given.get(name) is not None and given.get(other) is None:
                arguments.pop(other, None)
        return arguments

    def check_arguments(self, check: Callable[..., object]) -> None:
        """Call `check` with the arguments. If it raises, raise ScenarioError with the place of the wrong argument."""
        try:
            check(**self.arguments)
        except (ValueError, TypeError, KafkaError) as error:
            raise self._error(str(error), self._culprit(check)) from None

    def _culprit(self, check: Callable[..., object]) -> Path:
        """Return the path of the argument or setting without which the check passes; empty if there is none."""
        for path, rest in _each_left_out(self.arguments):
            try:
                check(**rest)
            except (ValueError, TypeError, KafkaError):
                continue
            return path
        return ()

    def set_up(self, cluster: ClusterSetup) -> None:
        """Create the content in a cluster that has just started. Raises ScenarioError if the cluster refuses it."""
        for index, quota in enumerate(self._said.get("quotas", ())):
            with self._at("quotas", index):
                cluster.quotas.set(**quota)
        for index, topic in enumerate(self._said.get("topics", ())):
            topic = dict(topic)
            behaviour = topic.pop("followers", None)
            with self._at("topics", index):
                cluster.create_topic(**topic)
            if behaviour is not None:
                with self._at("topics", index, "followers"):
                    cluster.followers.script([(0, behaviour)], topic["name"])
        for index, script in enumerate(self._said.get("scripts", ())):
            whom = {key: value for key, value in script.items() if key != "steps"}
            with self._at("scripts", index):
                cluster.followers.script([(step["at_ms"], step["followers"]) for step in script["steps"]], **whom)
        for index, fault in enumerate(self._faults()):
            with self._at("faults", index):
                if isinstance(fault, Preset):
                    cluster.faults.arise(fault)
                else:
                    cluster.faults.add(fault)

    @contextmanager
    def _at(self, *path: str | int) -> Iterator[None]:
        try:
            yield
        except (ValueError, TypeError, KafkaError) as error:
            raise self._error(str(error), path) from None

    def _error(self, sentence: str, path: Path) -> ScenarioError:
        return _error(sentence, self._source, self._document, path)


def _each_left_out(arguments: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    for key in arguments:
        if key == "acls":
            acls = arguments[key]
            for index in range(len(acls)):
                yield (key, index), arguments | {key: [*acls[:index], *acls[index + 1 :]]}
        if key != "config":
            yield (key,), {name: value for name, value in arguments.items() if name != key}
    config = arguments.get("config", {})
    for setting in config:
        rest = {name: value for name, value in config.items() if name != setting}
        yield ("config", setting), arguments | {"config": rest}


def _error(sentence: str, source: str, document: Document, path: Path) -> ScenarioError:
    keys = [step for step in path if isinstance(step, str)]
    place = document.place(path) if path else None
    return ScenarioError(sentence, source, place, keys[-1] if keys else None)


def _with_text_keys(value: object) -> object:
    """Return the value with text keys, as JSON requires; `racks` has broker ids as keys."""
    if isinstance(value, dict):
        return {str(key): _with_text_keys(part) for key, part in value.items()}
    return [_with_text_keys(part) for part in value] if isinstance(value, list) else value

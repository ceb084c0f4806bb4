"""One setting is one entry: its name, its valid values, and the module that uses it. A class of settings is a table.

Theory   An entry is an attribute of its class, named as in Kafka with underscores for dots. `TopicConfig.segment_bytes`
         is the entry; `config.segment_bytes` of an instance is the value, with the type of the entry's default. The
         value is in the instance's own dict, where Python finds it before the entry: entries are descriptors without
         `__set__`. An instance is a snapshot: it never changes. Other values need another instance.
Source   clients/.../common/config/{ConfigDef,AbstractConfig}.java @ 4.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, overload

from fakebroker.core.config.config_def import Type, Validator, Value, parse_type

T = TypeVar("T")


class ConfigEntry(NamedTuple):
    """A setting as it is shown: its value as text, and the number of its source in Kafka's ConfigSource."""

    name: str
    value: str
    source: int


class UpdateMode(Enum):
    """The ways to change a setting: only by a restart, for one broker, for all brokers, or (of a topic) always."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"
    DYNAMIC = "dynamic"


PER_BROKER = UpdateMode.PER_BROKER
CLUSTER_WIDE = UpdateMode.CLUSTER_WIDE


class Setting(Generic[T]):
    """One setting.

    name          Kafka's name
    default       the value if it is not set; None is Kafka's null
    mode          how it may be changed
    applied_by    the module of fakebroker that uses it, as "core/log/append"; None: kept and shown only
    doc           one line, without a full stop
    topic         for a broker's setting: the topic's setting with this one as its default
    unit          the size of one unit in units of the topic's setting
    is_kafkas     True if Kafka's table of settings has it
    """

    __slots__ = (  # four hundred dicts fewer for the garbage collector: `make guard` shows the difference
        "applied_by",
        "attribute",
        "default",
        "doc",
        "is_kafkas",
        "mode",
        "name",
        "topic",
        "type",
        "unit",
        "validator",
    )
    usual_mode = UpdateMode.READ_ONLY

    def __init__(
        self,
        type_: Type,
        default: T,
        validator: Validator | None = None,
        *,
        doc: str,
        mode: UpdateMode | None = None,
        by: str | None = None,
        topic: str | None = None,
        unit: int = 1,
        is_kafkas: bool = True,
    ) -> None:
        self.type = type_
        self.default = default
        self.validator = validator
        self.doc = doc
        self.mode = mode or self.usual_mode
        self.applied_by = by
        self.topic = topic
        self.unit = unit
        self.is_kafkas = is_kafkas

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.attribute = attribute
        self.name = attribute.replace("_", ".")

    @overload
    def __get__(self, instance: None, owner: type) -> Setting[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object, owner: type) -> Setting[T] | T:
        return self if instance is None else self.default

    def parse(self, text: str) -> Value:
        """Return the value of the text. Raise ConfigError if it is invalid."""
        value = parse_type(self.name, text, self.type)
        if self.validator is not None:
            self.validator(self.name, value)
        return value


# Entries with a type that does not follow from their default.
IntOrNone = Setting[int | None]
StrOrNone = Setting[str | None]
Strings = Setting[tuple[str, ...]]
StringsOrNone = Setting[tuple[str, ...] | None]


class Config:
    """A snapshot of all settings of one kind. `given` has the given ones, by attribute: the others have their
    defaults."""

    SETTINGS: ClassVar[Mapping[str, Setting[Any]]] = {}  # by Kafka's names, in the order of the checks
    _defaults: ClassVar[Mapping[str, Value]] = {}
    given: Mapping[str, Value]

    def __init_subclass__(cls) -> None:
        entries = [value for base in cls.__mro__ for value in vars(base).values() if isinstance(value, Setting)]
        cls.SETTINGS = {entry.name: entry for entry in entries}
        cls._defaults = {entry.attribute: entry.default for entry in entries}

    def __init__(self, **given: Value) -> None:
        """Create a snapshot of valid values, by attribute. Values of users are texts, and go through `parse`."""
        if unknown := given.keys() - self._defaults.keys():
            raise TypeError(f"{type(self).__name__} has no {', '.join(sorted(unknown))}")
        vars(self).update(self._defaults)
        vars(self).update(given)
        vars(self)["given"] = given

    def check(self) -> None:
        """Raise ConfigError if the settings contradict each other."""

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> dict[str, Value]:
        """Return the values by attribute, of texts by Kafka's names, all of them known. Raise ConfigError."""
        return {key.attribute: key.parse(texts[name]) for name, key in cls.SETTINGS.items() if name in texts}

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a configuration does not change: {name}")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(vars(self)[name] == vars(other)[name] for name in self._defaults)

    def __hash__(self) -> int:
        return hash(tuple(vars(self)[name] for name in self._defaults))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.given.items())})"

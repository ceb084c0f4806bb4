"""The settings of the brokers as they are now, and who is told when one is altered while they run.

Theory   Four layers, the nearest counts: what a broker sets of its own, what all brokers were set, what was given at
         the start, Kafka's default. `current` is a snapshot of the last three, `of` one of all four; to alter something
         puts other snapshots there. Who asks each time needs to do nothing; who keeps what follows from a setting names
         it once (`on_change`) and is told, with the new snapshots in their place. A name that may not be altered cannot
         be asked for, so nobody waits for what never comes.
         What was set is kept as text, under any name: Kafka keeps those that it does not know for plugins. Some
         can only be set here (broker_quota_config.py).
Source   server/.../config/DynamicBrokerConfig.java validateConfigs; server/.../DynamicThreadPool.java @ 4.4 (read out
         of the released jars); core/.../server/DynamicBrokerConfig.scala @ 4.0.
Differs  A setting of one listener (`listener.name.NAME.SETTING`) is kept and told, without effect. Where a broker
         listens cannot be altered: it is kept and told. Memory for logs is of all brokers together, so no single broker
         sets it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from fakebroker.core.config.broker_config import BrokerConfig, refuse_unknown
from fakebroker.core.config.broker_quota_config import BrokerQuotaConfig
from fakebroker.core.config.config_def import to_text
from fakebroker.core.config.setting import UpdateMode
from fakebroker.core.errors import ConfigError
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError

_SECURITY: Final = re.compile(r"ssl\.((keystore|truststore)\..*|key\.password)")
_OF_LISTENER: Final = re.compile(r"listener\.name\.[^.]*\.(.*)")
_OF_ALL_LISTENERS: Final = ("max.connections", "max.connection.creation.rate", "num.network.threads")
_MIN_ISR: Final = "min.insync.replicas"
_OF_ALL_BROKERS: Final = ("log.memory.bytes", "log.memory.full")
_THREADS: Final = (
    "num.io.threads",
    "num.network.threads",
    "num.replica.fetchers",
    "num.recovery.threads.per.data.dir",
    "background.threads",
)


class DynamicBrokerConfig:
    """Holds the snapshots that count."""

    def __init__(self, config: BrokerConfig) -> None:
        self._static = config
        # None: of all brokers. A new cluster of Kafka begins with this.
        self._set: dict[int | None, Mapping[str, str]] = {None: {_MIN_ISR: to_text(config.min_insync_replicas)}}
        self.current = self._layered(self._set, None)
        self._own: dict[int, BrokerConfig] = {}
        self._reconfigurables: list[tuple[frozenset[str], Callable[[BrokerConfig], None]]] = []

    def of(self, broker_id: int) -> BrokerConfig:
        """What holds at a broker."""
        return self._own.get(broker_id, self.current)

    def quotas_of(self, broker_id: int) -> BrokerQuotaConfig:
        """The same of what can only be set while it runs."""
        return BrokerQuotaConfig(**BrokerQuotaConfig.parse({**self.texts(None), **self.texts(broker_id)}))

    def texts(self, broker_id: int | None) -> Mapping[str, str]:
        """What was set of a broker, or of all (None), by name."""
        return self._set.get(broker_id, {})

    @property
    def have_own(self) -> bool:
        """Whether any broker sets something of its own."""
        return bool(self._own)

    def on_change(self, names: Iterable[str], apply: Callable[[BrokerConfig], None]) -> None:
        """Have `apply` called, with `current`, whenever a setting of that name has another value, there or at any
        broker. In the order of registration."""
        wanted = frozenset(names)
        assert not (fixed := [name for name in wanted if not _may_be_altered(name)]), f"never altered: {fixed}"
        self._reconfigurables.append((wanted, apply))

    def alter(self, changes: Mapping[str, str | None], broker_id: int | None = None) -> None:
        """Set some settings of all brokers or of one, or have them as they were without with None; raises KafkaError,
        and nothing changes. Here a name that nobody knows is a slip.

        What is refused, whatever is wrong with it, is an INVALID_REQUEST, as it is in Kafka (KAFKA-13609)."""
        try:
            refuse_unknown({name: text for name, text in changes.items() if name not in BrokerQuotaConfig.SETTINGS})
        except ConfigError as error:
            raise KafkaError(ErrorCode.invalid_request, error.message) from None
        refuse_read_only(changes)
        texts = altered(self.texts(broker_id), changes)
        self.validate(texts, broker_id)
        refuse_per_broker(changes if broker_id is None else ())
        self.set(texts, broker_id)

    def validate(self, texts: Mapping[str, str], broker_id: int | None, asked: int | None = None) -> None:
        """Raise KafkaError, INVALID_REQUEST, if these may not be all that is set of a broker, or of all. `asked` is the
        broker that was asked to set them."""
        refuse_read_only(texts)
        _refuse(
            "These security configs can be dynamically updated only per-listener using the listener prefix",
            filter(_SECURITY.fullmatch, texts),
        )
        try:
            for name, text in texts.items():
                if (match := _OF_LISTENER.fullmatch(name)) and match[1] in BrokerConfig.SETTINGS:
                    BrokerConfig.SETTINGS[match[1]].parse(text)
            BrokerConfig.parse({name: text for name, text in texts.items() if not _is_per_broker(name)})
            BrokerQuotaConfig.parse(texts)
            if broker_id is None:
                refuse_per_broker(texts)
            altered = self._layered({**self._set, broker_id: texts}, broker_id if broker_id is not None else asked)
        except ConfigError as error:
            raise KafkaError(ErrorCode.invalid_request, error.message) from None
        if broker_id is not None:
            _refuse("These configs are of all brokers together", [name for name in _OF_ALL_BROKERS if name in texts])
        try:
            altered.check()
        except ConfigError as error:
            raise KafkaError(ErrorCode.invalid_request, f"requirement failed: {error.message}") from None
        _check_threads(self.current if asked is None else self.of(asked), altered)

    def set(self, texts: Mapping[str, str], broker_id: int | None) -> None:
        """From now on these are all that is set of a broker, or of all. They are valid."""
        before_all, before = self.current, dict(self._own)
        texts_before = self.texts(broker_id)
        self._set[broker_id] = dict(texts)
        if not texts:
            del self._set[broker_id]
        self.current = self._layered(self._set, None)
        self._own = {each: self._layered(self._set, each) for each in self._set if each is not None}
        changed = _differences(before_all, self.current)
        changed |= {name for name in BrokerQuotaConfig.SETTINGS if texts_before.get(name) != texts.get(name)}
        for each in before | self._own:
            changed |= _differences(before.get(each, before_all), self.of(each))
        for names, apply in self._reconfigurables:
            if names & changed:
                apply(self.current)

    def _layered(self, set_: Mapping[int | None, Mapping[str, str]], broker_id: int | None) -> BrokerConfig:
        """A snapshot, unchecked; raises ConfigError for a text that says no value."""
        own = {} if broker_id is None else BrokerConfig.parse(set_.get(broker_id, {}))
        return self._static.layered(BrokerConfig.parse(set_.get(None, {})), own)


def altered(texts: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """What is set after some were set, or taken back with None."""
    both = {**texts, **changes}
    return {name: text for name, text in both.items() if text is not None}


def refuse_read_only(names: Iterable[str]) -> None:
    """Raise KafkaError if any of them may be altered by a new start only."""
    settings = BrokerConfig.SETTINGS
    _refuse(
        "Cannot update these configs dynamically",
        [name for name in names if name in settings and settings[name].mode is UpdateMode.READ_ONLY],
    )


def refuse_per_broker(names: Iterable[str]) -> None:
    """Raise KafkaError if any of them may be set of single brokers only."""
    _refuse(
        "Cannot update these configs at default cluster level, broker id must be specified",
        [name for name in names if _is_per_broker(name)],
    )


def _is_per_broker(name: str) -> bool:
    if match := _OF_LISTENER.fullmatch(name):
        return match[1] not in _OF_ALL_LISTENERS
    return name in BrokerConfig.SETTINGS and BrokerConfig.SETTINGS[name].mode is UpdateMode.PER_BROKER


def _check_threads(before: BrokerConfig, after: BrokerConfig) -> None:
    """DynamicThreadPool.validateReconfiguration and that of LogCleaner."""
    for name in _THREADS:
        old, new = _int(before, name), _int(after, name)
        what = f"Dynamic thread count update validation failed for {name}={new}"
        if new < old // 2:
            raise _invalid_dynamic(f"{what}, value should be at least half the current value {old}")
        if new > old * 2:
            raise _invalid_dynamic(f"{what}, value should not be greater than double the current value {old}")
    old, new = before.log_cleaner_threads, after.log_cleaner_threads
    if after.log_cleaner_enable:
        if new < old // 2:
            raise _invalid_dynamic(f"Log cleaner threads cannot be reduced to less than half the current value {old}")
        if new > old * 2:
            raise _invalid_dynamic(
                f"Log cleaner threads cannot be increased to more than double the current value {old}"
            )


def _invalid_dynamic(message: str) -> KafkaError:
    return KafkaError(
        ErrorCode.invalid_request,
        f"Invalid value org.apache.kafka.common.config.ConfigException: {message} for configuration Invalid dynamic "
        "configuration",
    )


def _may_be_altered(name: str) -> bool:
    return name in BrokerQuotaConfig.SETTINGS or BrokerConfig.SETTINGS[name].mode is UpdateMode.CLUSTER_WIDE


def _refuse(what: str, names: Iterable[str]) -> None:
    if names := list(names):
        raise KafkaError(ErrorCode.invalid_request, f"{what}: [{', '.join(names)}]")


def _differences(before: BrokerConfig, after: BrokerConfig) -> set[str]:
    if before is after:
        return set()
    return {
        name for name, key in BrokerConfig.SETTINGS.items() if vars(before)[key.attribute] != vars(after)[key.attribute]
    }


def _int(config: BrokerConfig, name: str) -> int:
    return int(vars(config)[BrokerConfig.SETTINGS[name].attribute])

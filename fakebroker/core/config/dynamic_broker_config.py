"""The present settings of the brokers, and notifications of changes at run time.

Theory   Four layers, of which the nearest counts: a broker's own settings, those of all brokers, those given at the
         start, Kafka's default. `current` is a snapshot of the last three, `of` returns one of all four; a change
         replaces the snapshots. Code that reads a setting at each use needs nothing more. Code that keeps a value
         derived from a setting registers once with `on_change`, and is called when the new snapshots are in place.
         Registration of a setting that cannot be altered is an error. Settings are kept as text, under any name: Kafka
         keeps unknown ones for plugins. Some can only be set here (broker_quota_config.py).
         A listener of the start has the settings that were given at the start, also when its broker starts again: a
         broker opens it before it reads what was altered. One that was added has those of the moment when it opens.
         Only key stores and trust stores are those of now (SslConfigs.RECONFIGURABLE_CONFIGS).
Source   server/.../config/DynamicBrokerConfig.java validateConfigs; server/.../DynamicThreadPool.java @ 4.4 (read out
         of the released jars); core/.../server/DynamicBrokerConfig.scala @ 4.0; core/.../network/SocketServer.scala
         Processor @ 4.0; clients/.../common/security/ssl/SslFactory.java createNewSslEngineFactory;
         clients/.../common/network/{ChannelBuilders,SslChannelBuilder,SaslChannelBuilder}.java @ 4.4.
Differs  A setting of one listener (`listener.name.NAME.SETTING`) has an effect if its code reads it by `of_listener`;
         any other is kept and reported. The memory for logs is one for all brokers, so a single broker cannot set it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from fakebroker.core.config.broker_config import BrokerConfig, refuse_unknown
from fakebroker.core.config.broker_quota_config import BrokerQuotaConfig
from fakebroker.core.config.config_def import Value, to_text
from fakebroker.core.config.listener_names import prefixes_of
from fakebroker.core.config.setting import UpdateMode
from fakebroker.core.errors import ConfigError
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices, finish

_SECURITY: Final = re.compile(r"ssl\.((keystore|truststore)\..*|key\.password)")
_OF_LISTENER: Final = re.compile(r"listener\.name\.[^.]*\.(.*)")
_OF_ALL_LISTENERS: Final = ("max.connections", "max.connection.creation.rate", "num.network.threads")
_OF_MECHANISMS: Final = ("sasl.jaas.config", "sasl.server.callback.handler.class")
_MIN_ISR: Final = "min.insync.replicas"
_OF_ALL_BROKERS: Final = ("log.memory.bytes", "log.memory.full")
_THREADS: Final = (
    "num.io.threads",
    "num.network.threads",
    "num.replica.fetchers",
    "num.recovery.threads.per.data.dir",
    "background.threads",
)


Reconfigure = Callable[[BrokerConfig], Slices[None] | None]
Validate = Callable[[int, Mapping[str, str], BrokerConfig], None]


class _Settings(NamedTuple):
    """The settings of a broker at one moment: those of its listeners as texts, and all others."""

    texts: Mapping[str, str]
    config: BrokerConfig


class DynamicBrokerConfig:
    """The present settings of all brokers, as snapshots. `of_start` are those that were given at the start."""

    def __init__(self, config: BrokerConfig) -> None:
        self.of_start = config
        # None is for all brokers. A new Kafka cluster begins with this setting.
        self._set: dict[int | None, Mapping[str, str]] = {None: {_MIN_ISR: to_text(config.min_insync_replicas)}}
        self.current = self._layered(self._set, None)
        self._own: dict[int, BrokerConfig] = {}
        self._of_listeners: dict[tuple[bool, int, str, str, bool], BrokerConfig] = {}  # until the next change
        self._at_start = _Settings(config.listener_texts, self.current)
        self._when_opened: dict[tuple[int, str], _Settings] = {}  # of listeners that were added, by broker and name
        self._reconfigurables: list[tuple[frozenset[str], Reconfigure]] = []
        self._validators: list[Validate] = []
        self._own_notified: list[Callable[[int], None]] = []

    def of(self, broker_id: int) -> BrokerConfig:
        """Return the settings of a broker."""
        return self._own.get(broker_id, self.current)

    def quotas_of(self, broker_id: int) -> BrokerQuotaConfig:
        """Return those settings of a broker that can only be set at run time."""
        return BrokerQuotaConfig(**BrokerQuotaConfig.parse({**self.texts(None), **self.texts(broker_id)}))

    def texts(self, broker_id: int | None) -> Mapping[str, str]:
        """Return the texts set for a broker, or for all (None), by name."""
        return self._set.get(broker_id, {})

    def of_listener(
        self, broker_id: int, listener: str, mechanism: str = "", *, has_sasl: bool = False
    ) -> BrokerConfig:
        """Return the settings of a broker as its open listener has them: `listener.name.NAME.SETTING` hides SETTING.
        With a mechanism of SASL, `listener.name.NAME.MECHANISM.SETTING` hides both. A `sasl.jaas.config` and
        a `sasl.server.callback.handler.class` count only if they are those of the mechanism. If the listener has SASL,
        `ssl.client.auth` counts only if it is that of the listener."""
        return self._for_listener(False, broker_id, listener, mechanism, has_sasl)

    def of_listener_now(self, broker_id: int, listener: str, mechanism: str = "") -> BrokerConfig:
        """Return the settings that the listener would have if it opened now."""
        return self._for_listener(True, broker_id, listener, mechanism, False)

    def _for_listener(
        self, is_of_now: bool, broker_id: int, listener: str, mechanism: str, has_sasl: bool
    ) -> BrokerConfig:
        key = (is_of_now, broker_id, listener, mechanism, has_sasl)
        config = self._of_listeners.get(key)
        if config is None:
            settings = self._present(broker_id) if is_of_now else self._opened(broker_id, listener)
            config = self._of_listeners[key] = _as_seen_by(settings, listener, mechanism, has_sasl)
        return config

    def open_listener(self, broker_id: int, listener: str) -> None:
        """Note that a listener opens that was added to a broker. It gets the present settings."""
        self._when_opened[broker_id, listener] = self._present(broker_id)
        self._of_listeners.clear()

    def close_listener(self, broker_id: int, listener: str) -> None:
        """Note that a broker has no such listener any more."""
        self._when_opened.pop((broker_id, listener), None)
        self._of_listeners.clear()

    def _present(self, broker_id: int) -> _Settings:
        texts = {**self.of_start.listener_texts, **self.texts(None), **self.texts(broker_id)}
        return _Settings(texts, self.of(broker_id))

    def _opened(self, broker_id: int, listener: str) -> _Settings:
        """Return the settings with which a listener was opened, with the stores of now."""
        opened = self._when_opened.get((broker_id, listener), self._at_start)
        [prefix] = prefixes_of(listener)
        present = self._present(broker_id).texts
        fixed = {name: text for name, text in opened.texts.items() if not _is_store(name, prefix)}
        return _Settings(fixed | {name: present[name] for name in present if _is_store(name, prefix)}, opened.config)

    @property
    def have_own(self) -> bool:
        """True if any broker has settings of its own."""
        return bool(self._own)

    def on_change(self, names: Iterable[str], apply: Reconfigure) -> None:
        """Call `apply` with `current` whenever one of these settings changes its value, there or at any broker. Calls
        are in the order of registration. If `apply` returns slices, the change goes on with them."""
        wanted = frozenset(names)
        assert not (fixed := [name for name in wanted if not _may_be_altered(name)]), f"never altered: {fixed}"
        self._reconfigurables.append((wanted, apply))

    def add_validator(self, validate: Validate) -> None:
        """Call `validate` with a broker, its own texts and all its settings before they are set. It raises KafkaError
        if they may not be."""
        self._validators.append(validate)

    def on_own(self, notify: Callable[[int], None]) -> None:
        """Call `notify` with a broker whenever its own settings were set, also if no value is another one."""
        self._own_notified.append(notify)

    def alter(self, changes: Mapping[str, str | None], broker_id: int | None = None) -> None:
        """Set some settings of all brokers or of one, or remove them with None. Raise KafkaError and change nothing if
        one is invalid. Here an unknown name is a slip.

        Every refusal is an INVALID_REQUEST, as in Kafka (KAFKA-13609).
        """
        finish(self.alter_in_slices(changes, broker_id))

    def alter_in_slices(self, changes: Mapping[str, str | None], broker_id: int | None = None) -> Slices[None]:
        try:
            refuse_unknown({name: text for name, text in changes.items() if name not in BrokerQuotaConfig.SETTINGS})
        except ConfigError as error:
            raise KafkaError(ErrorCode.invalid_request, error.message) from None
        refuse_read_only(changes)
        texts = altered(self.texts(broker_id), changes)
        self.validate(texts, broker_id)
        refuse_per_broker(changes if broker_id is None else ())
        yield from self.set_in_slices(texts, broker_id)

    def validate(self, texts: Mapping[str, str], broker_id: int | None, request_broker_id: int | None = None) -> None:
        """Raise KafkaError, INVALID_REQUEST, if these may not be all the settings of a broker, or of all.
        `request_broker_id` is the broker of the request."""
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
            altered = self._layered(
                {**self._set, broker_id: texts}, broker_id if broker_id is not None else request_broker_id
            )
        except ConfigError as error:
            raise KafkaError(ErrorCode.invalid_request, error.message) from None
        if broker_id is not None:
            _refuse("These configs are of all brokers together", [name for name in _OF_ALL_BROKERS if name in texts])
        try:
            altered.check()
        except ConfigError as error:
            raise KafkaError(ErrorCode.invalid_request, f"requirement failed: {error.message}") from None
        _check_threads(self.current if request_broker_id is None else self.of(request_broker_id), altered)
        if broker_id is not None:
            for validate in self._validators:
                validate(broker_id, texts, altered)

    def set_in_slices(self, texts: Mapping[str, str], broker_id: int | None) -> Slices[None]:
        """Replace the settings of a broker, or of all, at once. They are valid. Topics and followers apply them in
        slices."""
        before_all, before = self.current, dict(self._own)
        texts_before = self.texts(broker_id)
        self._of_listeners.clear()
        self._set[broker_id] = dict(texts)
        if not texts:
            del self._set[broker_id]
        self.current = self._layered(self._set, None)
        self._own = {own_id: self._layered(self._set, own_id) for own_id in self._set if own_id is not None}
        changed = _differences(before_all, self.current)
        changed |= {name for name in BrokerQuotaConfig.SETTINGS if texts_before.get(name) != texts.get(name)}
        for id_ in before | self._own:
            changed |= _differences(before.get(id_, before_all), self.of(id_))
        if broker_id is not None:
            for notify in self._own_notified:
                notify(broker_id)
        for names, apply in self._reconfigurables:
            if names & changed and (slices := apply(self.current)) is not None:
                yield from slices

    def _layered(self, set_: Mapping[int | None, Mapping[str, str]], broker_id: int | None) -> BrokerConfig:
        """Return a snapshot, unchecked. Raise ConfigError for an invalid text."""
        own = {} if broker_id is None else BrokerConfig.parse(set_.get(broker_id, {}))
        return self.of_start.layered(BrokerConfig.parse(set_.get(None, {})), own)


def _as_seen_by(settings: _Settings, listener: str, mechanism: str, has_sasl: bool) -> BrokerConfig:
    config = settings.config
    values: dict[str, Value] = {BrokerConfig.SETTINGS[name].attribute: None for name in _OF_MECHANISMS}
    if has_sasl:
        values["ssl_client_auth"] = "none"
    prefixes = prefixes_of(listener, mechanism)
    for prefix in prefixes:
        own = {name.removeprefix(prefix): text for name, text in settings.texts.items() if name.startswith(prefix)}
        if not mechanism or prefix != prefixes[-1]:
            own = {name: text for name, text in own.items() if name not in _OF_MECHANISMS}
        values |= BrokerConfig.parse(own)
    return config.layered(config.altered, {**config.own, **values})


def _is_store(name: str, prefix: str) -> bool:
    return name.startswith(prefix) and _SECURITY.fullmatch(name.removeprefix(prefix)) is not None


def altered(texts: Mapping[str, str], changes: Mapping[str, str | None]) -> dict[str, str]:
    """Return the texts after some were set, or removed with None."""
    both = {**texts, **changes}
    return {name: text for name, text in both.items() if text is not None}


def refuse_read_only(names: Iterable[str]) -> None:
    """Raise KafkaError if one of them can be altered only by a restart."""
    settings = BrokerConfig.SETTINGS
    _refuse(
        "Cannot update these configs dynamically",
        [name for name in names if name in settings and settings[name].mode is UpdateMode.READ_ONLY],
    )


def refuse_per_broker(names: Iterable[str]) -> None:
    """Raise KafkaError if one of them can be set only for single brokers."""
    _refuse(
        "Cannot update these configs at default cluster level, broker id must be specified",
        [name for name in names if _is_per_broker(name)],
    )


def is_dynamic(name: str) -> bool:
    """Return True for a setting that a listener may be given while it is open."""
    return name in _OF_ALL_LISTENERS or _SECURITY.fullmatch(name) is not None


def _is_per_broker(name: str) -> bool:
    if match := _OF_LISTENER.fullmatch(name):
        return match[1] not in _OF_ALL_LISTENERS
    return name in BrokerConfig.SETTINGS and BrokerConfig.SETTINGS[name].mode is UpdateMode.PER_BROKER


def _check_threads(before: BrokerConfig, after: BrokerConfig) -> None:
    """Check the values as DynamicThreadPool.validateReconfiguration and that of LogCleaner do."""
    for name in _THREADS:
        old, new = _int(before, name), _int(after, name)
        what = f"Dynamic thread count update validation failed for {name}={new}"
        if new < old // 2:
            raise invalid_dynamic(f"{what}, value should be at least half the current value {old}")
        if new > old * 2:
            raise invalid_dynamic(f"{what}, value should not be greater than double the current value {old}")
    old, new = before.log_cleaner_threads, after.log_cleaner_threads
    if after.log_cleaner_enable:
        if new < old // 2:
            raise invalid_dynamic(f"Log cleaner threads cannot be reduced to less than half the current value {old}")
        if new > old * 2:
            raise invalid_dynamic(
                f"Log cleaner threads cannot be increased to more than double the current value {old}"
            )


def invalid_dynamic(message: str) -> KafkaError:
    return KafkaError(
        ErrorCode.invalid_request,
        f"Invalid value org.apache.kafka.common.config.ConfigException: {message} for configuration Invalid dynamic "
        "configuration",
    )


def _may_be_altered(name: str) -> bool:
    return name in BrokerQuotaConfig.SETTINGS or BrokerConfig.SETTINGS[name].mode is not UpdateMode.READ_ONLY


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

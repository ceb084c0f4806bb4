"""The settings of the brokers as they are now, and who is told when one is altered while they run.

Theory   `current` is a snapshot, `alter` puts another one there. Who asks `current` each time needs to do nothing; who
         keeps what follows from a setting names it once (`on_change`) and is told, with the new snapshot in its place.
         A name that may not be altered cannot be asked for, so nobody waits for what never comes.
Source   server/.../config/DynamicBrokerConfig.java validateConfigs @ 4.4; core/.../server/{DynamicBrokerConfig,
         ConfigAdminManager}.scala @ 4.0.
Differs  For all brokers at once: Kafka's cluster-wide default. No settings of single brokers, and so none of those that
         exist for single brokers only. An unknown name is refused, and so is taking back what may not be altered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from fakebroker.core.config.broker_config import BrokerConfig, refuse_unknown
from fakebroker.core.config.setting import UpdateMode
from fakebroker.core.errors import ConfigError
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError


class DynamicBrokerConfig:
    """Holds the one snapshot that counts."""

    def __init__(self, config: BrokerConfig) -> None:
        self.current = config
        self._reconfigurables: list[tuple[frozenset[str], Callable[[BrokerConfig], None]]] = []

    def on_change(self, names: Iterable[str], apply: Callable[[BrokerConfig], None]) -> None:
        """Have `apply` called whenever a setting of that name has another value. In the order of registration."""
        wanted = frozenset(names)
        assert not (fixed := [name for name in wanted if not _may_be_altered(name)]), f"never altered: {fixed}"
        self._reconfigurables.append((wanted, apply))

    def alter(self, changes: Mapping[str, str | None]) -> None:
        """Set some settings, or have them as they were at the start with None; raises KafkaError, and nothing changes.

        What is refused, whatever is wrong with it, is an INVALID_REQUEST, as it is in Kafka (KAFKA-13609)."""
        try:
            refuse_unknown(changes)
            _refuse(
                "Cannot update these configs dynamically",
                [name for name in changes if BrokerConfig.SETTINGS[name].mode is UpdateMode.READ_ONLY],
            )
            altered = self.current.with_altered(changes)
            _refuse(
                "Cannot update these configs at default cluster level, broker id must be specified",
                [name for name in changes if not _may_be_altered(name)],
            )
        except ConfigError as error:
            raise KafkaError(ErrorCode.invalid_request, error.message) from None
        before, self.current = self.current, altered
        changed = {name for name in BrokerConfig.SETTINGS if _value(before, name) != _value(altered, name)}
        for names, apply in self._reconfigurables:
            if names & changed:
                apply(altered)


def _may_be_altered(name: str) -> bool:
    return BrokerConfig.SETTINGS[name].mode is UpdateMode.CLUSTER_WIDE


def _refuse(what: str, names: list[str]) -> None:
    if names:
        raise ConfigError(f"{what}: [{', '.join(names)}]")


def _value(config: BrokerConfig, name: str) -> object:
    return vars(config)[name.replace(".", "_")]

"""The objects that keep state derived from settings, and so must be notified when one is altered.

All other code reads settings at each use. A broker's own settings apply to its work, and to the partitions that it
leads. `core/config/dynamic_broker_config.py` notifies.
"""

from __future__ import annotations

from collections.abc import Callable

from fakebroker.cluster.members import Members
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.dynamic_listener_config import LISTENERS
from fakebroker.core.config.setting import UpdateMode
from fakebroker.core.quota.replication import RATES
from fakebroker.network.effects import ChangeListeners, Effect
from fakebroker.network.socket_server import SocketServer

# Settings of which partitions keep a copy, and the memory of the logs.
_OF_CONTROLLER = (
    "log.memory.bytes",
    "log.memory.full",
    *(
        name
        for name, key in BrokerConfig.SETTINGS.items()
        if key.topic is not None and key.mode is UpdateMode.CLUSTER_WIDE
    ),
)
_OF_SOCKET_SERVER = (
    "max.connections",
    "max.connections.per.ip",
    "max.connections.per.ip.overrides",
    "max.connection.creation.rate",
)
_OF_QUOTAS = ("fakebroker.request.handler.time.us",)


def register_reconfigurables(members: Members, sockets: SocketServer, emit: Callable[[Effect], None]) -> None:
    """DynamicBrokerConfig.addReconfigurables."""
    configs, followers = members.broker_configs, members.followers

    def configure_quotas(_: BrokerConfig) -> None:
        for broker_id, broker in members.brokers.items():
            broker.quotas.configure(configs.of(broker_id))

    def change_listeners(_: BrokerConfig) -> None:
        for broker_id, removed in members.listener_configs.reconfigure():
            for name in removed:
                sockets.close_listener(broker_id, name)
            emit(ChangeListeners(broker_id))

    configs.on_change(_OF_CONTROLLER, members.controller.configure_in_slices)
    configs.on_change(_OF_SOCKET_SERVER, lambda _: sockets.configure(configs.of))
    configs.on_change(_OF_QUOTAS, configure_quotas)
    configs.on_change(RATES, lambda _: followers.on_rates_change_in_slices())
    configs.on_change((LISTENERS,), change_listeners)

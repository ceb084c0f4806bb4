"""The key stores and trust stores of a cluster's listeners, when settings of its brokers change.

Source   core/.../server/DynamicBrokerConfig.scala validate, reloadUpdatedFilesWithoutConfigChange @ 4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fakebroker.core.broker_registry import BrokerRegistry
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.dynamic_broker_config import DynamicBrokerConfig
from fakebroker.core.security.identity import Listener
from fakebroker.server.tls.contexts import Contexts


class ListenerStores:
    """The stores of all listeners with TLS. `contexts` returns those of TLS, None without such a listener."""

    def __init__(
        self, configs: DynamicBrokerConfig, registry: BrokerRegistry, contexts: Callable[[], Contexts | None]
    ) -> None:
        self._configs = configs
        self._registry = registry
        self._contexts = contexts
        configs.add_validator(self._validate)
        configs.on_own(self._reload)

    def _validate(self, broker_id: int, texts: Mapping[str, str], _: BrokerConfig) -> None:
        """Raise KafkaError if listeners may not have the stores that these texts of their broker name."""
        if (contexts := self._contexts()) is None:
            return
        texts = {**self._configs.of_start.listener_texts, **texts}
        for listener in self._with_tls(broker_id):
            contexts.validate(self._config(broker_id, listener), broker_id, listener.name, texts)

    def _reload(self, broker_id: int) -> None:
        """Read the stores again that have changed; the broker has got settings. Forget those of removed listeners."""
        if (contexts := self._contexts()) is None:
            return
        listeners = self._with_tls(broker_id)
        contexts.keep(broker_id, {listener.name for listener in listeners})
        for listener in listeners:
            contexts.reload(self._config(broker_id, listener), broker_id, listener.name)

    def _config(self, broker_id: int, listener: Listener) -> BrokerConfig:
        return self._configs.of_listener(broker_id, listener.name)

    def _with_tls(self, broker_id: int) -> list[Listener]:
        broker = self._registry[broker_id]
        added = [added.listener for added in broker.added_listeners.values()]
        return [listener for listener in (*broker.listeners, *added) if listener.has_tls]

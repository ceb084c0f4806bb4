"""The state of each connection of a client, and the time of the next attempt.

Theory   A node without a state may be connected. CONNECTING ends when the connection is made or refused, or since
         KIP-601 (2.7) after more than `socket.connection.setup.timeout.ms`. CHECKING_API_VERSIONS ends with the
         broker's ApiVersions response. READY connections accept requests. DISCONNECTED nodes may be tried again after a
         back-off, counted from the end of the connection. The back-off doubles with each failure up to a maximum, and
         restarts when a connection becomes ready. The setup timeout grows likewise, but only with failures to set up. A
         throttled node (KIP-219) is not ready until a time that never moves back.
Units    monotonic milliseconds.
Source   clients/.../clients/ClusterConnectionStates.java of 2.0 and 4.3; KIP-144, KIP-601.
Differs  A host has one address. There is no authentication.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from typing import Final

from fakebroker.producer.exponential_backoff import ExponentialBackoff
from fakebroker.producer.hash_map import HashMap
from fakebroker.producer.producer_config import LONG_MAX, ProducerConfig
from fakebroker.protocol.java_hash import java_hash

_EXP_BASE: Final = 2
_JITTER: Final = 0.2  # RECONNECT_BACKOFF_JITTER, CONNECTION_SETUP_TIMEOUT_JITTER


class ConnectionState(Enum):
    DISCONNECTED = "DISCONNECTED"
    CONNECTING = "CONNECTING"
    CHECKING_API_VERSIONS = "CHECKING_API_VERSIONS"
    READY = "READY"


class _NodeConnectionState:
    def __init__(self, host: str, now_ms: int, reconnect_backoff_ms: int, setup_timeout_ms: int) -> None:
        self.host = host
        self.state = ConnectionState.CONNECTING
        self.last_connect_attempt_ms = now_ms
        self.failed_attempts = 0
        self.failed_connect_attempts = 0
        self.reconnect_backoff_ms = reconnect_backoff_ms
        self.connection_setup_timeout_ms = setup_timeout_ms
        self.throttle_until_ms = 0

    @property
    def is_disconnected(self) -> bool:
        return self.state is ConnectionState.DISCONNECTED

    @property
    def is_connected(self) -> bool:
        return self.state in (ConnectionState.CHECKING_API_VERSIONS, ConnectionState.READY)

    def is_ready(self, now_ms: int) -> bool:
        return self.state is ConnectionState.READY and self.throttle_until_ms <= now_ms


class ClusterConnectionStates:
    """The states of all connections. `random` returns a number from 0 up to 1; `jitter` is the largest relative
    deviation of a delay."""

    def __init__(self, config: ProducerConfig, random: Callable[[], float], jitter: float = _JITTER) -> None:
        self._generation = config.generation
        self._backoff_ms = config.reconnect_backoff_ms
        self._backoff_max_ms = config.reconnect_backoff_max_ms
        self._random = random
        self._jitter = jitter
        self._reconnect_backoff = ExponentialBackoff(self._backoff_ms, _EXP_BASE, self._backoff_max_ms, jitter, random)
        self._setup_timeout = ExponentialBackoff(
            config.socket_connection_setup_timeout_ms,
            _EXP_BASE,
            config.socket_connection_setup_timeout_max_ms,
            jitter,
            random,
        )
        self._nodes: dict[int, _NodeConnectionState] = {}
        self._connecting: HashMap[int, bool] = HashMap(hash_of_node)

    def can_connect(self, node: int, now_ms: int) -> bool:
        state = self._nodes.get(node)
        return state is None or (
            state.is_disconnected and now_ms - state.last_connect_attempt_ms >= state.reconnect_backoff_ms
        )

    def is_blacked_out(self, node: int, now_ms: int) -> bool:
        """Return True if the node is in its reconnect back-off."""
        state = self._nodes.get(node)
        return (
            state is not None
            and state.is_disconnected
            and now_ms - state.last_connect_attempt_ms < state.reconnect_backoff_ms
        )

    def connection_delay_ms(self, node: int, now_ms: int) -> int:
        """Return the time until the node's state needs attention; LONG_MAX if a network event will change it."""
        state = self._nodes.get(node)
        if state is None:
            return 0
        if state.is_disconnected:
            return max(state.reconnect_backoff_ms - (now_ms - state.last_connect_attempt_ms), 0)
        if state.state is ConnectionState.CONNECTING and self._generation.has_connection_setup_timeout:
            return state.connection_setup_timeout_ms
        return LONG_MAX

    def poll_delay_ms(self, node: int, now_ms: int) -> int:
        throttle_delay_ms = self.throttle_delay_ms(node, now_ms)
        if self.is_connected(node) and throttle_delay_ms > 0:
            return throttle_delay_ms
        return self.connection_delay_ms(node, now_ms)

    def connecting(self, node: int, now_ms: int, host: str) -> None:
        """Record the start of an attempt. A node that has moved to another host starts without failures."""
        state = self._nodes.get(node)
        if state is not None and (state.host == host or not self._generation.has_delivery_timeout):
            state.last_connect_attempt_ms = now_ms
            state.state = ConnectionState.CONNECTING
        else:
            self._nodes[node] = _NodeConnectionState(
                host, now_ms, self._first_backoff_ms(), self._setup_timeout.backoff_ms(0)
            )
        self._connecting.put(node, True)

    def disconnected(self, node: int, now_ms: int) -> None:
        """Record that the connection ended or could not be made."""
        state = self._nodes[node]
        state.last_connect_attempt_ms = now_ms
        self._update_reconnect_backoff(state)
        if state.state is ConnectionState.CONNECTING:
            state.failed_connect_attempts += 1
            state.connection_setup_timeout_ms = self._setup_timeout.backoff_ms(state.failed_connect_attempts)
            self._forget_connecting(node)
        else:
            self._reset_setup_timeout(state)
        state.state = ConnectionState.DISCONNECTED

    def checking_api_versions(self, node: int) -> None:
        """Record that the connection is made and ApiVersions is sent."""
        state = self._nodes[node]
        state.state = ConnectionState.CHECKING_API_VERSIONS
        self._reset_setup_timeout(state)
        self._forget_connecting(node)

    def ready(self, node: int) -> None:
        """Record that the node accepts requests."""
        state = self._nodes[node]
        state.state = ConnectionState.READY
        state.failed_attempts = 0
        state.reconnect_backoff_ms = self._first_backoff_ms()
        self._reset_setup_timeout(state)
        self._forget_connecting(node)

    def throttle(self, node: int, throttle_until_ms: int) -> None:
        state = self._nodes.get(node)
        if state is not None:
            state.throttle_until_ms = max(state.throttle_until_ms, throttle_until_ms)

    def throttle_delay_ms(self, node: int, now_ms: int) -> int:
        state = self._nodes.get(node)
        return 0 if state is None else max(state.throttle_until_ms - now_ms, 0)

    def is_ready(self, node: int, now_ms: int) -> bool:
        state = self._nodes.get(node)
        return state is not None and state.is_ready(now_ms)

    def has_ready_nodes(self, now_ms: int) -> bool:
        return any(state.is_ready(now_ms) for state in self._nodes.values())

    def is_connecting(self, node: int) -> bool:
        state = self._nodes.get(node)
        return state is not None and state.state is ConnectionState.CONNECTING

    def is_preparing_connection(self, node: int) -> bool:
        """Return True if the node is connecting or checks API versions."""
        state = self._nodes.get(node)
        return state is not None and state.state in (ConnectionState.CONNECTING, ConnectionState.CHECKING_API_VERSIONS)

    def is_connected(self, node: int) -> bool:
        state = self._nodes.get(node)
        return state is not None and state.is_connected

    def is_disconnected(self, node: int) -> bool:
        state = self._nodes.get(node)
        return state is not None and state.is_disconnected

    def last_connect_attempt_ms(self, node: int) -> int:
        """Return when the last attempt began or ended, 0 if there was none."""
        state = self._nodes.get(node)
        return 0 if state is None else state.last_connect_attempt_ms

    def remove(self, node: int) -> None:
        self._nodes.pop(node, None)
        self._forget_connecting(node)

    def nodes_with_connection_setup_timeout(self, now_ms: int) -> list[int]:
        """Return the nodes that have been connecting for longer than the setup timeout."""
        if not len(self._connecting) or not self._generation.has_connection_setup_timeout:
            return []
        return [
            node
            for node, _ in self._connecting.items()
            if now_ms - self._nodes[node].last_connect_attempt_ms > self._nodes[node].connection_setup_timeout_ms
        ]

    def time_outs_ms(self) -> list[int]:
        """Return the first time at which each connecting node is over its setup timeout."""
        if not self._generation.has_connection_setup_timeout or not len(self._connecting):
            return []
        states = [self._nodes[node] for node, _ in self._connecting.items()]
        return [state.last_connect_attempt_ms + state.connection_setup_timeout_ms + 1 for state in states]

    def check_invariants(self) -> None:
        connecting = {node for node, _ in self._connecting.items()}
        assert connecting == {node for node in self._nodes if self.is_connecting(node)}

    def _first_backoff_ms(self) -> int:
        return self._reconnect_backoff.backoff_ms(0) if self._generation.has_delivery_timeout else self._backoff_ms

    def _update_reconnect_backoff(self, state: _NodeConnectionState) -> None:
        if self._generation.has_delivery_timeout:
            state.reconnect_backoff_ms = self._reconnect_backoff.backoff_ms(state.failed_attempts)
            state.failed_attempts += 1
        elif self._backoff_max_ms > self._backoff_ms:
            state.failed_attempts += 1
            state.reconnect_backoff_ms = self._grown_backoff_ms(state.failed_attempts - 1)

    def _grown_backoff_ms(self, failed: int) -> int:
        """Return the back-off of 2.0. It applies jitter after the maximum, so the result may exceed it by a fifth."""
        most = math.log(self._backoff_max_ms / max(self._backoff_ms, 1)) / math.log(_EXP_BASE)
        grown_ms = int(self._backoff_ms * _EXP_BASE ** min(float(failed), most))
        factor = 1.0 - self._jitter + self._random() * 2 * self._jitter if self._jitter else 1.0
        return int(factor * grown_ms)

    def _reset_setup_timeout(self, state: _NodeConnectionState) -> None:
        state.failed_connect_attempts = 0
        state.connection_setup_timeout_ms = self._setup_timeout.backoff_ms(0)

    def _forget_connecting(self, node: int) -> None:
        if self._connecting.get(node):
            self._connecting.remove(node)


def hash_of_node(node: int) -> int:
    """Return Java's hash of the node id, which is a string in Kafka's client."""
    return java_hash(str(node))

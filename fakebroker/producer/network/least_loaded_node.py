"""The least loaded node, for a request that any node serves.

Source   NetworkClient.leastLoadedNode of 2.0 and 4.3, LeastLoadedNode.java of 4.3.
"""

from __future__ import annotations

from fakebroker.producer.metadata_snapshot import Node
from fakebroker.producer.network.client_request import ClientRequest
from fakebroker.producer.network.connection_states import ClusterConnectionStates
from fakebroker.producer.network.selectable import Selectable
from fakebroker.producer.producer_config import INT_MAX
from fakebroker.producer.sending.in_flight_requests import InFlightRequests


class LeastLoadedNode:
    """The result of the search; `node` is None if no node can be used or connected."""

    __slots__ = ("at_least_one_connection_ready", "node")

    def __init__(self, node: Node | None, at_least_one_connection_ready: bool) -> None:
        self.node = node
        self.at_least_one_connection_ready = at_least_one_connection_ready


class LeastLoaded:
    """The search, in the order in which the nodes are given."""

    def __init__(
        self, states: ClusterConnectionStates, selector: Selectable, in_flight: InFlightRequests[ClientRequest]
    ) -> None:
        self._states = states
        self._selector = selector
        self._in_flight = in_flight

    def can_send_request(self, node: int, now_ms: int) -> bool:
        return self._is_connection_ready(node, now_ms) and self._in_flight.can_send_more(node)

    def of_2_0(self, nodes: tuple[Node, ...], is_update_due: bool, now_ms: int) -> LeastLoadedNode:
        """Return the node with the fewest requests in flight, connected or not (2.0). Idle connections are preferred,
        except while a metadata refresh is due."""
        fewest = INT_MAX
        least_loaded = None
        for node in nodes:
            count = self._in_flight.count(node.node_id)
            if count == 0 and not is_update_due and self.can_send_request(node.node_id, now_ms):
                return LeastLoadedNode(node, False)
            if count < fewest and not self._states.is_blacked_out(node.node_id, now_ms):
                fewest = count
                least_loaded = node
        return LeastLoadedNode(least_loaded, False)

    def of_4_3(self, nodes: tuple[Node, ...], now_ms: int) -> LeastLoadedNode:
        """Return a node that can take a request now, else one that is connecting, else the one with the oldest attempt
        (4.3)."""
        fewest = INT_MAX
        ready: Node | None = None
        connecting: Node | None = None
        connectable: Node | None = None
        is_one_ready = False
        for node in nodes:
            node_id = node.node_id
            is_one_ready |= self._is_connection_ready(node_id, now_ms)
            if self.can_send_request(node_id, now_ms):
                count = self._in_flight.count(node_id)
                if count == 0:
                    return LeastLoadedNode(node, True)
                if count < fewest:
                    fewest = count
                    ready = node
            elif self._states.is_preparing_connection(node_id):
                connecting = node
            elif self._states.can_connect(node_id, now_ms) and (
                connectable is None
                or self._states.last_connect_attempt_ms(connectable.node_id)
                > self._states.last_connect_attempt_ms(node_id)
            ):
                connectable = node
        return LeastLoadedNode(ready or connecting or connectable, is_one_ready)

    def _is_connection_ready(self, node: int, now_ms: int) -> bool:
        return self._states.is_ready(node, now_ms) and self._selector.is_channel_ready(node)

"""Plays the commands for a network client and its metadata on ours, and tells what the judge tells."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

from conformance.producer.accumulator_player import START_MS
from fakebroker.producer.metadata.metadata import Metadata
from fakebroker.producer.metadata.metadata_2_0 import Metadata20
from fakebroker.producer.metadata.metadata_4_3 import Metadata43
from fakebroker.producer.metadata.metadata_response import (
    MetadataRequest,
    MetadataResponse,
    PartitionMetadata,
    TopicMetadata,
)
from fakebroker.producer.metadata_snapshot import Node, PartitionInfo
from fakebroker.producer.network.client_request import BrokerApiVersions, ClientRequest
from fakebroker.producer.network.connection_states import ClusterConnectionStates
from fakebroker.producer.network.network_client import NetworkClient
from fakebroker.producer.network.node_api_versions import API_VERSIONS, METADATA, PRODUCE, ApiVersion, client_range
from fakebroker.producer.network.selectable import PollResult, Selectable
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.producer.sending.response_errors import BrokerError
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.topic_partition import TopicPartition

Json = dict[str, Any]

_EXCEPTIONS = {
    ErrorCode.topic_authorization_failed: "TopicAuthorizationException",
    ErrorCode.invalid_topic_exception: "InvalidTopicException",
}
# Since which version an answer has it.
_THROTTLE_OF_API_VERSIONS, _EPOCHS, _TOPIC_IDS, _WHOLE_ERROR = 1, 7, 10, 13


class _Wires(Selectable):
    """Connections: what the client does to them is told, and what happens to them is what a poll says."""

    def __init__(self, generation: str) -> None:
        self.events: list[Json] = []
        self._generation = generation
        self._connecting: set[int] = set()
        self._channels: set[int] = set()
        self._unwritten: list[ClientRequest] = []
        self._unanswered: dict[int, list[ClientRequest]] = {}
        self._happened = PollResult()

    def knows(self, node: int) -> bool:
        return node in self._connecting or node in self._channels

    def connect(self, node: Node, now_ms: int) -> None:
        self.events.append({"connect": str(node.node_id), "host": node.host, "port": node.port})
        self._connecting.add(node.node_id)

    def close(self, node: int) -> None:
        self.events.append({"close": str(node)})
        self._drop(node)

    def send(self, request: ClientRequest, now_ms: int) -> None:
        event: Json = {
            "send": str(request.node),
            "api": request.api_key,
            "version": request.version,
            "correlation": request.correlation_id,
            "expects": request.expects_response,
        }
        if isinstance(request.body, MetadataRequest):
            event["topics"] = request.body.topics
        self.events.append(event)
        self._unwritten.append(request)
        if request.expects_response:
            self._unanswered.setdefault(request.node, []).append(request)

    def is_channel_ready(self, node: int) -> bool:
        return node in self._channels

    def take(self, now_ms: int) -> PollResult:
        happened, self._happened = self._happened, PollResult()
        return happened

    def next_idle_ms(self) -> int | None:
        return None

    def happen(self, command: Json) -> None:
        if command["write"]:
            self._happened.completed_sends += [request.node for request in self._unwritten]
            self._unwritten.clear()
        for event in command["events"]:
            self._happen(event, event["node"])

    def _happen(self, event: Json, node: int) -> None:
        happened = self._happened
        match event["what"]:
            case "connect" if node in self._connecting:
                self._connecting.remove(node)
                self._channels.add(node)
                happened.connected.append(node)
            case "refuse" if node in self._connecting:
                self._drop(node)
                happened.disconnected.append(node)
            case "lose" if node in self._channels and node not in happened.connected:
                self._drop(node)
                happened.disconnected.append(node)
            case "answer":
                waiting = self._unanswered.get(node)
                is_answered = any(answered == node for answered, _, _ in happened.completed_receives)
                is_written = all(request.node != node for request in self._unwritten)
                if waiting and not is_answered and is_written:
                    happened.completed_receives.append((node, *_answer(waiting.pop(0), event, self._generation)))

    def _drop(self, node: int) -> None:
        self._connecting.discard(node)
        self._channels.discard(node)
        self._unanswered.pop(node, None)
        self._unwritten = [request for request in self._unwritten if request.node != node]


class NetworkPlayer:
    def __init__(self, generation: str, config: Json) -> None:
        self._now_ms = START_MS
        self._json = config
        self._config = _config(generation, config)
        self._metadata: Metadata
        if self._config.generation.has_delivery_timeout:
            self._metadata = Metadata43(self._config, _no_chance, jitter=0.0)
        else:
            self._metadata = Metadata20(self._config)
        nodes = [Node(-at - 1, host, 9092) for at, host in enumerate(config["bootstrap"])]
        self._metadata.bootstrap(sorted(nodes), START_MS)
        self._wires = _Wires(generation)
        self._states = ClusterConnectionStates(self._config, _no_chance, jitter=0.0)
        randoms = cycle(config["randoms"])
        self._client = NetworkClient(self._metadata, self._wires, self._states, lambda: next(randoms))
        self._asked: MetadataRequest | None = None

    def play(self, command: Json) -> Json:
        results: list[Any] = []
        self._wires.events = []
        method: Callable[[Json, list[Any]], None] = getattr(self, f"_{command['do']}")
        method(command, results)
        self._client.check_invariants()
        client, now_ms = self._client, self._now_ms
        nodes = [
            [
                client.is_ready(node, now_ms),
                client.connection_delay_ms(node, now_ms),
                client.poll_delay_ms(node, now_ms),
                client.connection_failed(node),
                client.in_flight_request_count(node),
            ]
            for node in self._json["nodes"]
        ]
        return {
            "events": self._wires.events,
            "told": results,
            "nodes": nodes,
            "in_flight": client.in_flight_request_count_all(),
            "ready": client.has_ready_nodes(now_ms),
            "metadata": self._tell_metadata(),
        }

    def _tell_metadata(self) -> list[Any]:
        metadata, snapshot = self._metadata, self._metadata.fetch()
        state: list[Any] = [
            metadata.update_version,
            metadata.update_requested(),
            metadata.time_to_next_update_ms(self._now_ms),
        ]
        for node in snapshot.nodes:
            led = [str(info.partition) for info in snapshot.partitions_for_node(node.node_id)]
            state.append([*node, *led])
        for topic in self._json["topics"]:
            infos = snapshot.partitions_for_topic(topic)
            state.append([topic, *(number for info in infos for number in (info.partition.partition, info.leader))])
        return state

    def _tick(self, command: Json, results: list[Any]) -> None:
        self._now_ms += command["ms"]

    def _ready(self, command: Json, results: list[Any]) -> None:
        node = command["node"]
        results.append(self._client.ready(Node(node, command["host"], 9092 + abs(node)), self._now_ms))

    def _send(self, command: Json, results: list[Any]) -> None:
        node = command["node"]
        is_ready = self._client.is_ready(node, self._now_ms)
        results.append(is_ready)
        if is_ready:
            wanted = client_range(PRODUCE, self._config.generation)
            request = self._client.new_client_request(node, wanted, None, self._now_ms, command["expects"])
            self._client.send(request, self._now_ms)

    def _poll(self, command: Json, results: list[Any]) -> None:
        timeout_ms = self._client.begin_poll(command["timeout"], self._now_ms)
        if timeout_ms is not None:
            self._now_ms += command["ms"]
            self._wires.happen(command)
        results += [
            {
                "node": str(response.request.node),
                "correlation": response.request.correlation_id,
                "api": response.request.api_key,
                "disconnected": response.was_disconnected,
                "timed_out": response.was_timed_out,
                "mismatch": response.version_mismatch is not None,
                "answered": response.body is not None,
            }
            for response in self._client.end_poll(self._now_ms)
        ]
        results.append(-1 if timeout_ms is None else timeout_ms)

    def _disconnect(self, command: Json, results: list[Any]) -> None:
        if self._wires.knows(command["node"]):
            self._client.disconnect(command["node"], self._now_ms)

    def _close(self, command: Json, results: list[Any]) -> None:
        self._client.close_connection(command["node"], self._now_ms)

    def _least(self, command: Json, results: list[Any]) -> None:
        node = self._client.least_loaded_node(self._now_ms).node
        results.append("none" if node is None else str(node.node_id))

    def _add(self, command: Json, results: list[Any]) -> None:
        self._metadata.add(command["topic"], self._now_ms)

    def _request(self, command: Json, results: list[Any]) -> None:
        results.append(self._metadata.request_update())

    def _request_for(self, command: Json, results: list[Any]) -> None:
        results.append(self._metadata.request_update_for_topic(command["topic"]))

    def _fail(self, command: Json, results: list[Any]) -> None:
        self._metadata.failed_update(self._now_ms)

    def _ask(self, command: Json, results: list[Any]) -> None:
        self._asked = self._metadata.new_request(self._now_ms)
        results += [self._asked.topics, self._asked.is_partial_update]

    def _answer_asked(self, command: Json, results: list[Any]) -> None:
        request = self._asked
        if isinstance(self._metadata, Metadata20):
            request = MetadataRequest([])
        if request is not None and command["brokers"]:
            self._metadata.update(request, _metadata_response(command, command["version"]), self._now_ms)

    def _leaders(self, command: Json, results: list[Any]) -> None:
        if isinstance(self._metadata, Metadata43):
            leaders = [
                PartitionInfo(TopicPartition(topic, index), leader, epoch)
                for topic, index, leader, epoch in command["leaders"]
            ]
            nodes = [Node(*one) for one in command["brokers"]]
            results += sorted(str(one) for one in self._metadata.update_partition_leadership(leaders, nodes))

    def _topic_error(self, command: Json, results: list[Any]) -> None:
        error = self._metadata.take_error_for_topic(command["topic"])
        results.append(_EXCEPTIONS[ErrorCode(error.code)] if isinstance(error, BrokerError) else "none")


def _no_chance() -> float:
    return 0.5


def _answer(request: ClientRequest, spec: Json, generation: str) -> tuple[object, int]:
    """Return the broker's response, and for how long it throttles."""
    throttle_ms = spec["throttle_ms"]
    if request.api_key == API_VERSIONS:
        is_oldest = spec["error"] == ErrorCode.unsupported_version and generation != "2.0"
        version = 0 if is_oldest else request.version
        throttle_ms = throttle_ms if version >= _THROTTLE_OF_API_VERSIONS else 0
        return BrokerApiVersions([ApiVersion(*one) for one in spec["ranges"]], spec["error"], throttle_ms), throttle_ms
    if request.api_key == METADATA:
        return _metadata_response(spec, request.version), throttle_ms
    return spec, throttle_ms


def _metadata_response(spec: Json, version: int) -> MetadataResponse:
    topics = [
        TopicMetadata(
            name,
            [
                PartitionMetadata(index, leader, epoch if version >= _EPOCHS else -1, code)
                for index, leader, epoch, code in partitions
            ],
            error,
            str(topic_id) if topic_id and version >= _TOPIC_IDS else "",
        )
        for name, error, topic_id, partitions in spec["topics"]
    ]
    whole_error = spec["whole_error"] if version >= _WHOLE_ERROR else 0
    return MetadataResponse([Node(*one) for one in spec["brokers"]], topics, version, spec["throttle_ms"], whole_error)


def _config(generation: str, config: Json) -> ProducerConfig:
    settings = {
        "enable.idempotence": False,
        "max.in.flight.requests.per.connection": config["most"],
        "metadata.max.age.ms": config["metadata_max_age_ms"],
        "reconnect.backoff.ms": config["reconnect_backoff_ms"],
        "reconnect.backoff.max.ms": config["reconnect_backoff_max_ms"],
        "request.timeout.ms": config["request_timeout_ms"],
        "retry.backoff.ms": config["retry_backoff_ms"],
    }
    if generation != "2.0":
        settings |= {
            "metadata.max.idle.ms": config["metadata_max_idle_ms"],
            "metadata.recovery.strategy": config["recovery"],
            "metadata.recovery.rebootstrap.trigger.ms": config["rebootstrap_trigger_ms"],
            "retry.backoff.max.ms": config["retry_backoff_max_ms"],
            "socket.connection.setup.timeout.ms": config["setup_timeout_ms"],
            "socket.connection.setup.timeout.max.ms": config["setup_timeout_max_ms"],
        }
    return ProducerConfig(generation, settings)

"""Plays a sequence on `fakebroker.producer` and tells what the judge tells."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

from conformance.producer.accumulator_player import BASE_OFFSET, START_MS, AccumulatorPlayer, Compress
from conformance.producer.compressed import told_sizes
from conformance.producer.network_player import NetworkPlayer
from conformance.producer.transactions_player import DROPPED, TransactionsPlayer, answer_to, asked, state_of
from fakebroker.producer.generation import Generation
from fakebroker.producer.sending.client import Client, ClientProduceRequest, TransactionalRequest
from fakebroker.producer.sending.in_flight_requests import InFlightRequest, InFlightRequests
from fakebroker.producer.sending.response_errors import PartitionResponse
from fakebroker.producer.sending.sender import Sender
from fakebroker.producer.transactions.producer_id_and_epoch import ProducerIdAndEpoch
from fakebroker.producer.transactions.requests import TxnAnswer
from fakebroker.protocol.compression import compress

Json = dict[str, Any]


Request = ClientProduceRequest | TransactionalRequest


class _Wire(Client):
    """Nodes are ready from a time on, and what is sent is told."""

    def __init__(self, sent: Callable[[Request, int], None]) -> None:
        self.ready_at_ms: dict[int, int] = {}
        self.failed: set[int] = set()
        self.turn: Json = {}
        self.awaited = 0
        self.now_ms = 0
        self._nodes_asked = 0
        self._sent = sent

    def begin(self, turn: Json) -> None:
        self.turn = turn
        self._nodes_asked = 0

    def ready(self, node: int, now_ms: int) -> bool:
        return self.poll_delay_ms(node, now_ms) == 0

    def is_ready(self, node: int, now_ms: int) -> bool:
        self.awaited = node
        self.now_ms = now_ms
        return self.ready(node, now_ms)

    def connection_failed(self, node: int) -> bool:
        return node in self.failed and self.poll_delay_ms(node, self.now_ms) > 0

    def least_loaded_node(self, now_ms: int) -> int | None:
        self._nodes_asked += 1
        return None if self._nodes_asked <= self.turn.get("no_node", 0) else int(self.turn.get("least", 1))

    def poll_delay_ms(self, node: int, now_ms: int) -> int:
        return max(0, self.ready_at_ms.get(node, 0) - now_ms)

    def send(self, request: ClientProduceRequest, now_ms: int) -> None:
        self._sent(request, now_ms)

    def send_transactional(self, request: TransactionalRequest, now_ms: int) -> None:
        self._sent(request, now_ms)


class Player:
    """An accumulator, its sender, and requests in flight."""

    def __init__(self, generation: str, config: Json, compress: Compress = compress) -> None:
        self._player = AccumulatorPlayer(generation, config, compress)
        self._calls = TransactionsPlayer(self._player)
        self._flights: InFlightRequests[int] = InFlightRequests(config.get("most", 5), Generation(generation))
        self._unanswered: list[Request] = []
        self._wire = _Wire(self._sent)
        self._sender = Sender(self._player.accumulator, self._wire)
        self._ids_asked = 0

    def play(self, command: Json) -> Json:
        results = self._player.play(command, self._calls, self)
        return {**self._calls.manager_told(), **results}

    def do_run(self, command: Json, results: list[Any]) -> None:
        self._sender.is_metadata_update_requested = False
        self._wire.begin(command)
        self._ids_asked = 0
        timeout_ms = self._sender.run_once(self._player.metadata(), self._player.now_ms)
        while self._sender.is_blocked:
            self._unblock(command, timeout_ms)
            timeout_ms = self._sender.run_once(self._player.metadata(), self._player.now_ms)
        requested = self._sender.is_metadata_update_requested
        self._tell_uncaught()
        for request in [one for one in self._unanswered if isinstance(one, ClientProduceRequest)]:
            if not request.expects_response:
                self._unanswered.remove(request)
                self._sender.handle_no_response(request, self._player.now_ms)
        results += [timeout_ms, requested or self._sender.is_metadata_update_requested]

    def _unblock(self, command: Json, timeout_ms: int) -> None:
        """Unblock as Kafka's thread does: its own request gets a response, or time passes until there is news of the
        node."""
        last = self._unanswered[-1] if self._unanswered else None
        if isinstance(last, TransactionalRequest) and last.handler is None:
            self._unanswered.pop()
            self._ids_asked += 1
            answers = command.get("ids", [])
            code, producer_id = [0, 7000 + self._ids_asked]
            if self._ids_asked <= len(answers):
                code, producer_id = answers[self._ids_asked - 1]
            if code == DROPPED:
                self._sender.handle_transactional_disconnect(last)
            else:
                self._sender.handle_transactional_response(
                    last, TxnAnswer(code, producer=ProducerIdAndEpoch(producer_id, 0))
                )
        elif self._sender.asleep_until_ms is not None:
            self._player.now_ms = self._sender.asleep_until_ms
        else:
            self._player.now_ms += min(timeout_ms, self._wire.poll_delay_ms(self._wire.awaited, self._player.now_ms))

    def _sent(self, request: Request, now_ms: int) -> None:
        event: Json = {"send": str(request.node), "expects": True}
        if self._player.manager is not None:
            event["at"] = now_ms - START_MS
        if isinstance(request, TransactionalRequest):
            event["asks"] = asked(request.request)
        else:
            sizes = {str(partition): len(batch.records()) for partition, batch in request.batches.items()}
            event |= {"expects": request.expects_response, "acks": request.acks, "timeout": request.timeout_ms}
            event["sizes"] = sizes
            if self._player.manager is not None:
                event |= {"transactional_id": request.transactional_id or "", "v2": request.is_transaction_v2}
                event["states"] = {str(partition): state_of(batch) for partition, batch in request.batches.items()}
        self._player.events.append(event)
        self._unanswered.append(request)

    def _tell_uncaught(self) -> None:
        if self._sender.uncaught is not None:
            self._player.events.append({"uncaught": self._sender.uncaught.kafka_name})
            self._sender.uncaught = None

    def do_drop(self, command: Json, results: list[Any]) -> None:
        self.do_respond(command, results)

    def do_respond(self, command: Json, results: list[Any]) -> None:
        if not self._unanswered:
            results.append("nothing is in flight")
            return
        request = self._unanswered.pop(command["which"] % len(self._unanswered))
        self._sender.is_metadata_update_requested = False
        if isinstance(request, TransactionalRequest):
            if command["do"] == "drop":
                self._sender.handle_transactional_disconnect(request)
            else:
                self._sender.handle_transactional_response(request, answer_to(request.request, command))
        elif command["do"] == "drop":
            self._sender.handle_disconnect(request, False, self._player.now_ms)
        else:
            codes = cycle(command["errors"])
            partitions = sorted(partition for partition, _ in request.batches.items())
            refused = tuple(command["refused"])
            base, log_start = command.get("base", BASE_OFFSET), command.get("log_start", -1)
            answers = [
                PartitionResponse(one, code, -1, refused, log_start)
                if code
                else PartitionResponse(one, code, base, (), log_start)
                for one, code in zip(partitions, codes, strict=False)
            ]
            self._sender.handle_produce_response(request, answers, command["throttle_ms"], self._player.now_ms)
        self._tell_uncaught()
        results.append(self._sender.is_metadata_update_requested)

    def do_unready(self, command: Json, results: list[Any]) -> None:
        self._wire.ready_at_ms[command["node"]] = self._player.now_ms + command["ms"]
        if command.get("failed"):
            self._wire.failed.add(command["node"])
        else:
            self._wire.failed.discard(command["node"])

    def do_flight(self, command: Json, results: list[Any]) -> None:
        flights, node = self._flights, command["node"]
        match command["op"]:
            case "add":
                flights.add(InFlightRequest(command["id"], node, command["timeout_ms"], self._player.now_ms))
            case "written" if flights.count(node):
                flights.last_sent(node).is_written = True
            case "next":
                results.append(flights.complete_next(node).request if flights.count(node) else -1)
            case "last":
                results.append(flights.complete_last_sent(node).request if flights.count(node) else -1)
            case "clear":
                results += [one.request for one in flights.clear_all(node)]
            case "throttle":
                flights.increment_throttle_time(node, command["ms"])
        results += [flights.can_send_more(node), flights.count(node), flights.count_all()]
        results.append([str(late) for late in flights.nodes_with_timed_out_requests(self._player.now_ms)])


def play(sequence: Json, compress: Compress | None = None) -> list[Json]:
    """Return the results of each command. Compressed data have the sizes of the sequence, unless `compress` is
    given."""
    if "network" in sequence["config"]:
        network = NetworkPlayer(sequence["generation"], sequence["config"])
        return [network.play(command) for command in sequence["commands"]]
    player = Player(sequence["generation"], sequence["config"], compress or told_sizes(sequence.get("compressed", {})))
    return [player.play(command) for command in sequence["commands"]]

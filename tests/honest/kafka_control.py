"""The calls of fakebroker's HTTP control that scenarios make, done to Apache Kafka by signals and admin requests.

Shape    `with kafka_control(target, scenario) as url:` serves them on loopback for one run of the scenario.
Theory   A follower is frozen by SIGSTOP. FROZEN is the broker that is frozen, and has replicas of no other topic. It
         takes the place of the frozen followers of a topic. Other topics have three replicas on the brokers before it,
         and their leaders take turns. `is_possible` leaves some scenarios out: Kafka has no faults and no slow
         followers. A broker that is stopped cannot become a leader. Some scenarios do not wait until a broker has
         started.
Errors   500, with a sentence, for a call that fails or that Kafka does not have.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from conformance import frames
from conformance.targets.admin import ALTER_CLIENT_QUOTAS, CREATE_TOPICS, check
from conformance.targets.boxes import Box
from conformance.targets.target import KafkaTarget
from fakebroker_load.scenario.actions import BROKER_VERBS, verb_of
from fakebroker_load.scenario.model import LoadScenario

FROZEN = 4
BROKERS = 3  # which have replicas of other topics
INTERNAL = "__consumer_offsets", "__transaction_state"
TOO_SLOW = "min-insync"  # a broker that has started must be in sync within 2.5 s
VERBS = {*BROKER_VERBS, "quota"}
FETCHING_MS = 1_200  # a follower that has asked too early asks again after replica.fetch.backoff.ms, a second

Body = Mapping[str, Any]


def is_possible(scenario: LoadScenario) -> bool:
    """Return True if all that the scenario does to a cluster can be done to Kafka, and as fast."""
    behaviours = {rule.get("behaviour") for rule in scenario.followers}
    verbs = {verb_of(action) for action in scenario.actions}
    return scenario.name != TOO_SLOW and behaviours <= {"frozen"} and verbs <= VERBS and not (behaviours and verbs)


def box_of(scenario: LoadScenario) -> Box:
    """Return the cluster that the scenario needs: a frozen follower keeps its session, a dead one loses it."""
    session = {} if scenario.followers else {"broker.session.timeout.ms": "9000"}  # Kafka's default
    internal = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
    config = {"auto.create.topics.enable": "false", "group.initial.rebalance.delay.ms": "0"}
    return Box(FROZEN, config, session | internal, controller_apart=True)


def create_internal_topics(target: KafkaTarget) -> None:
    """Create them without a replica on the broker that is frozen."""
    for name in INTERNAL:
        _create(target, name, [[1, 2, 3]], {"cleanup.policy": "compact"})


class _Calls:
    """Each call as a method of its path; the scenario says which topics are frozen."""

    def __init__(self, target: KafkaTarget, scenario: LoadScenario) -> None:
        self._target = target
        self._frozen_topics = {rule["topic"]: rule.get("broker") for rule in scenario.followers}  # None: all followers
        self._states = dict.fromkeys(range(1, BROKERS + 1), "running")
        self._is_frozen = False
        self._quotas: dict[str, Body] = {}
        self._starter = ThreadPoolExecutor(BROKERS)  # to start one takes longer than a control may take to answer
        self._starts: list[Future[None]] = []

    def do(self, method: str, path: str, body: Body) -> Any:
        """Raises LookupError for a call that Kafka does not have, RuntimeError for one that fails."""
        head, *rest = [unquote(part) for part in path.removeprefix("/v1/").split("/")]
        calls: dict[tuple[str, str], Callable[..., Any]] = {
            ("GET", "cluster"): lambda: {"brokers": list(self._states)},
            ("GET", "brokers"): lambda: {"brokers": [{"id": id, "state": at} for id, at in self._states.items()]},
            ("POST", "brokers"): lambda broker, verb: self._act(int(broker), verb),
            ("POST", "topics"): lambda: self._create_topic(body),
            ("DELETE", "topics"): self._target.delete_topic,
            ("PUT", "followers"): lambda: self._freeze(body["behaviour"] == "frozen"),
            ("GET", "quotas"): lambda: {
                "quotas": [{"entity": {"client-id": id}, "quotas": values} for id, values in self._quotas.items()]
            },
            ("PUT", "quotas"): lambda: self._set_quota(body),
            ("DELETE", "quotas"): lambda: self._remove_quota(body["client_id"]),
        }
        return calls[method, head](*rest)

    def end(self) -> None:
        self._freeze(False)
        for broker, state in self._states.items():
            if state != "running":
                self._act(broker, "start")
        for start in self._starts:
            start.result()
        self._starter.shutdown()

    def _act(self, broker: int, verb: str) -> None:
        if verb == "start":
            self._starts.append(self._starter.submit(self._target.start_broker, broker))
        else:
            acts = {"stop": self._target.stop_broker, "kill": self._target.kill_broker}
            acts |= {"pause": self._target.pause_broker, "resume": self._target.resume_broker}
            acts[verb](broker)
        self._states[broker] = {"stop": "stopped", "kill": "killed", "pause": "paused"}.get(verb, "running")

    def _create_topic(self, body: Body) -> None:
        name = body["name"]
        topic = name.rpartition("-")[0]
        turns = [[(first + i) % BROKERS + 1 for i in range(BROKERS)] for first in range(body.get("partitions", 0))]
        assignments = body.get("assignments", turns)
        if topic in self._frozen_topics:
            frozen = self._frozen_topics[topic]
            assignments = [
                [first, *(id for id in others if frozen not in (None, id)), FROZEN] for first, *others in assignments
            ]
        _create(self._target, name, assignments, body["configs"])

    def _freeze(self, is_wanted: bool) -> None:
        if is_wanted == self._is_frozen:
            return
        (self._target.freeze if is_wanted else self._target.thaw)(FROZEN)
        self._is_frozen = is_wanted

    def _set_quota(self, body: Body) -> None:
        values = {name: value for name, value in body.items() if name != "client_id"}
        self._target.set_quota(body["client_id"], values)
        self._quotas[body["client_id"]] = values

    def _remove_quota(self, client_id: str) -> None:
        ops = [{"key": name, "value": 0, "remove": True} for name in self._quotas.pop(client_id, {})]
        entry = {"entity": [{"entity_type": "client-id", "entity_name": client_id}], "ops": ops}
        answer = self._target.admin.request(ALTER_CLIENT_QUOTAS, 1, {"entries": [entry], "validate_only": False})
        check(answer.entries[0].error_code, f"removing the quota of {client_id}")


def _create(target: KafkaTarget, name: str, assignments: Sequence[Sequence[int]], configs: Body) -> None:
    """Create a topic, and return when its leaders lead, and all brokers that are not frozen know it."""
    places = [{"partition_index": index, "broker_ids": list(ids)} for index, ids in enumerate(assignments)]
    given = [{"name": key, "value": str(value)} for key, value in configs.items()]
    frame = frames.create_topics([{"name": name, "assignments": places, "configs": given}])
    created = target.admin.ask(CREATE_TOPICS, 7, frame).topics[0]
    check(created.error_code, f"creating {name}: {created.error_message}")
    for partition, replicas in enumerate(assignments):
        target.admin.await_leader(name, partition, replicas[0])
    for broker in range(1, BROKERS + 1):
        target.catch_up(broker)
    target.pause(FETCHING_MS)


@contextmanager
def kafka_control(target: KafkaTarget, scenario: LoadScenario) -> Iterator[str]:
    """Yield the URL of the control of one run. What it did to brokers is undone at the end."""
    calls = _Calls(target, scenario)

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            try:
                status, said = 200, json.dumps(calls.do(self.command, self.path, body))
            except (LookupError, RuntimeError) as error:
                status, said = 500, f"{type(error).__name__}: {error}"
            self.send_response(status)
            self.end_headers()
            self.wfile.write(said.encode())

        do_GET = do_PUT = do_POST = do_DELETE = _answer

        def log_message(self, format: str, *args: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, name="control of Kafka")
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
            calls.end()

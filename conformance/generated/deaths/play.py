"""Play a round to a cluster: record the responses to each plan, and the brokers' states of its partitions.

Theory   Each request has a connection of its own. A response that does not come within a moment is looked for again
         whenever the cluster has come to rest. So a response is noted where it came first, with its time.
         A follower that is about to be paused has a parked fetch. What its leader writes first is the response, which
         the follower takes when it resumes. That must not depend on the moment of the fetch. So just before the pause a
         beat is written where the broker follows, and it fetches anew. Another beat follows just after it is paused.
Units    milliseconds; seconds of the target's clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from conformance import frames
from conformance.dying.awaited import DESCRIBE_TOPIC_PARTITIONS, describe_partitions
from conformance.generated.deaths.asking import frame_of, partition_words, without_ports
from conformance.generated.deaths.plan import BROKERS, LEADER, Ask, Event, Plan, Round
from conformance.targets.target import Target, ask
from conformance.targets.wire import FENCE, FENCE_ID, Connection, Sent, correlation_id
from conformance.transcripts.recording import Answer
from conformance.transcripts.words import Transcript, answer_words

CREATE_TOPICS, DESCRIBE_CLUSTER = 19, 60
SESSION_MS: Final = 3_000  # of the box (targets/boxes.py)
QUIET_MS: Final = 1_200  # by then followers know what was written, and the watermark
APART_MS: Final = 500  # more than a heartbeat's interval: of two that die, the first one's session is over first
_NOTICED_MS: Final = {"kill": 4_000, "pause": 4_000, "stop": 500, "resume": 900, "start": 900}
_STEADY_MS: Final = 700  # nothing has changed for so long: a follower has fetched twice,
_STEADY_AFTER_START_MS: Final = 1_700  # and replica.fetch.backoff.ms is over, if its first leader did not know yet
_REST_LIMIT_S: Final = 30.0
_POLL_MS: Final = 100
_ANSWERED_S: Final = 1.0  # an answer that waits for nothing is there by then
_PARKED_MS: Final = 100  # by then a request that waits has been handled, on a busy machine too
_BEAT: Final = 9  # the version of Produce


class _Open:
    """A request that has not been answered yet."""

    def __init__(
        self, broker: int, request: Ask, sent: Sent, connection: Connection, at_s: float, notes: dict[str, Any]
    ) -> None:
        self.broker = broker
        self.partition = None if request.waits else request.partition
        self.sent = sent
        self.connection = connection
        self.at_s = at_s
        self.notes = notes


class RoundPlayer:
    """One round on one cluster. `name` is a prefix of topics that no round has used."""

    def __init__(self, target: Target, a_round: Round, name: str) -> None:
        self._target = target
        self._round = a_round
        self._topics = {plan.seed: f"{name}-{index}" for index, plan in enumerate(a_round.plans)}
        self._paused: set[int] = set()
        self._dead: set[int] = set()
        self._stale: set[int] = set()  # paused, and their session is over
        self._open: dict[int, list[_Open]] = {plan.seed: [] for plan in a_round.plans}
        self._told: dict[int, Transcript] = {plan.seed: [] for plan in a_round.plans}
        self._state: dict[str, Any] = {}
        self.happened: Transcript = []  # what was seen of brokers, and when

    def play(self) -> dict[int, Transcript]:
        """Play the round and return the transcripts by the seed of the plan."""
        try:
            self._create()
            self._rest("before", None, 0)
            for plan in self._round.plans:
                self._ask_all(plan, "before", plan.before)
            for index, event in enumerate(self._round.events):
                self._event(index, event)
            self._target.pause(QUIET_MS)
            self._note_logs()
            return self._told
        finally:
            self._revive()
            for opened in self._open.values():
                for open_request in opened:
                    open_request.connection.close()

    def _event(self, index: int, event: Event) -> None:
        target = self._target
        target.pause(QUIET_MS if index == 0 or self._round.events[index - 1].settles else APART_MS)
        phase = f"{index + 1} {event}"
        beats = self._beats(event.broker) if event.what == "pause" else []
        self._beat(f"{phase}, beat before", beats, -1)
        began_s = target.now_s()
        self._happen(event)
        self._beat(f"{phase}, beat after", beats, 1)
        for plan in self._round.plans:
            self._ask_all(plan, f"{phase}, fresh", plan.fresh[index], is_short=self._round.is_short(index))
        if not event.settles:
            return
        self._rest(phase, event, began_s)
        for plan in self._round.plans:
            self._harvest(plan, phase)
            self._told[plan.seed].append({"phase": phase, "partitions": self._state.get(self._topics[plan.seed], [])})
            self._ask_all(plan, f"{phase}, settled", plan.settled[index])

    def _happen(self, event: Event) -> None:
        target, broker = self._target, event.broker
        if event.what == "kill":
            target.kill_broker(broker)
            self._dead.add(broker)
            self._paused.discard(broker)
            self._stale.discard(broker)
        elif event.what == "stop":
            target.stop_broker(broker)
            self._dead.add(broker)
        elif event.what == "pause":
            target.pause_broker(broker)
            self._paused.add(broker)
        elif event.what == "resume":
            target.resume_broker(broker)
            self._paused.discard(broker)
        else:
            target.start_broker(broker)
            self._dead.discard(broker)

    def _revive(self) -> None:
        for broker in sorted(self._paused):
            self._target.resume_broker(broker)
        for broker in sorted(self._dead):
            self._target.start_broker(broker)

    # Requests.

    def _beats(self, follower: int) -> list[tuple[Plan, int]]:
        """Return, for each leader that the follower fetches from, a partition to beat on. The follower is in its ISR,
        and acks=all gets its response there."""
        beats: dict[int, tuple[Plan, int]] = {}
        for plan in self._round.plans:
            for index, part in enumerate(self._state.get(self._topics[plan.seed], [])):
                leader, isr = part["leader"], part["isr"]
                enough = len(isr) >= min(plan.min_isr, len(plan.replicas[index]))
                if leader not in (-1, follower) and follower in isr and enough and leader not in self._paused:
                    beats.setdefault(leader, (plan, index))
        return [beats[leader] for leader in sorted(beats)]

    def _beat(self, phase: str, beats: Iterable[tuple[Plan, int]], acks: int) -> None:
        for plan, index in beats:
            value = f"{plan.seed}-{phase}".encode()
            self._ask(plan, phase, Ask(LEADER, index, _BEAT, acks, 5_000, value=value), self._leader(plan, index))

    def _ask_all(self, plan: Plan, phase: str, asks: Iterable[Ask], is_short: bool = False) -> None:
        for request in asks:
            broker = self._leader(plan, request.partition) if request.broker == LEADER else request.broker
            if request.acks is not None and broker in self._paused:
                is_chance = self._is_one_of_two if is_short else self._may_come_to_stay
                if is_chance(plan, request.partition, broker):
                    continue
            self._ask(plan, phase, request, broker)

    def _ask(self, plan: Plan, phase: str, request: Ask, broker: int) -> None:
        sent, frame = frame_of(request, self._topics[plan.seed])
        notes: dict[str, Any] = {"asked": f"{phase}: {request}", "phase": phase.split(",")[0], "at": broker}
        self._told[plan.seed].append(notes)
        if broker < 0:
            notes["end"] = "nobody leads"
            return
        try:
            connection = self._target.connect(broker)
        except OSError:
            notes["end"] = "refused"
            return
        is_read_of_follower = request.acks is None and broker != self._leader(plan, request.partition)
        if broker in self._stale or (broker in self._paused and is_read_of_follower):
            notes["stale"] = True
        connection.send(frame)
        opened = _Open(broker, request, sent, connection, self._target.now_s(), notes)
        if request.acks == 0:
            connection.send(FENCE)
        self._open[plan.seed].append(opened)
        if broker in self._paused:
            self._target.pause(5)
            return
        if request.waits or (request.acks == -1 and ", fresh" in phase):
            self._target.pause(_PARKED_MS)
            return
        connection.wait(0, self._target.now_s() + _ANSWERED_S)
        self._harvest(plan, "")

    def _harvest(self, plan: Plan, phase: str) -> None:
        """Note what has been answered by now; `phase` is noted with what came later."""
        waiting = []
        for open_request in self._open[plan.seed]:
            if not open_request.connection.arrivals and not open_request.connection.closed:
                waiting.append(open_request)
                continue
            if phase:
                open_request.notes["by"] = phase
            open_request.notes["answers"] = answers = []
            for arrival in open_request.connection.arrivals:
                if correlation_id(arrival.frame) == FENCE_ID:
                    break
                answer = Answer(open_request.sent, arrival.frame, round((arrival.at_s - open_request.at_s) * 1000, 1))
                answers.append(without_ports(answer_words(answer)))
            open_request.notes["end"] = "closed" if open_request.connection.closed else "open"
            open_request.connection.close()
        self._open[plan.seed] = waiting

    # What brokers tell.

    def _leader(self, plan: Plan, partition: int) -> int:
        return int(self._partition(plan, partition).get("leader", -1))

    def _is_one_of_two(self, plan: Plan, partition: int, broker: int) -> bool:
        """Return True if another connection has a request there already that does not wait. A broker that resumes
        handles them in an order that its threads decide."""
        return any(
            (open_request.broker, open_request.partition) == (broker, partition)
            for open_request in self._open[plan.seed]
        )

    def _may_come_to_stay(self, plan: Plan, partition: int, broker: int) -> bool:
        """Return True if records that a broker takes while it wrongly thinks that it leads might be kept: if it is
        elected, with its log. Whether it takes them is a matter of milliseconds."""
        part = self._partition(plan, partition)
        left = [other for other in part.get("isr", ()) if other != broker]
        return plan.unclean or broker in part.get("elr", ()) or len(left) < plan.min_isr

    def _partition(self, plan: Plan, partition: int) -> dict[str, Any]:
        parts = self._state.get(self._topics[plan.seed], [])
        return parts[partition] if partition < len(parts) else {}

    def _rest(self, phase: str, event: Event | None, began_s: float) -> None:
        """Wait until all that run tell the same, and nothing changes any more."""
        target = self._target
        limit = target.now_s() + _REST_LIMIT_S
        least_s = began_s + (_NOTICED_MS[event.what] / 1000 if event is not None else 0)
        steady_ms = _STEADY_AFTER_START_MS if event is not None and event.what == "start" else _STEADY_MS
        seen, since_s, fenced_ms = None, target.now_s(), None
        while True:
            views = self._look()
            now_s = target.now_s()
            if event is not None and fenced_ms is None and views and all(event.broker in view[1] for view in views):
                fenced_ms = round((now_s - began_s) * 1000)
            if views != seen:
                seen, since_s = views, now_s
            alike = all(view == views[0] for view in views[1:])
            as_it_is = not views or set(views[0][1]) == self._paused | self._dead
            if alike and as_it_is and now_s >= least_s and now_s - since_s >= steady_ms / 1000:
                break
            if now_s > limit:
                break
            target.pause(_POLL_MS)
        self._stale = set(self._paused)
        for opened in self._open.values():
            for open_request in opened:
                if open_request.broker in self._stale:
                    open_request.notes["stale"] = True
        self._state = views[0][0] if views else {}
        note: dict[str, Any] = {"phase": phase, "fenced": [view[1] for view in views]}
        if event is not None and event.what in ("kill", "pause"):
            note["fenced_after_ms"] = fenced_ms
        self.happened.append(note)
        if len(views) > 1 and not alike:
            note["unlike"] = [view[0] for view in views]

    def _look(self) -> list[tuple[dict[str, Any], list[int]]]:
        """Return what each running broker reports of all partitions, and of fenced brokers."""
        return [self._look_at(broker) for broker in BROKERS if broker not in self._paused | self._dead]

    def _look_at(self, broker: int) -> tuple[dict[str, Any], list[int]]:
        target = self._target
        names = list(self._topics.values())
        flags = {
            "include_cluster_authorized_operations": False,
            "endpoint_type": 1,
            "include_fenced_brokers": True,
        }
        connection = target.connect(broker)
        try:
            described = ask(connection, target, DESCRIBE_TOPIC_PARTITIONS, 0, describe_partitions(*names))
            cluster = ask(connection, target, DESCRIBE_CLUSTER, 2, frames.request(DESCRIBE_CLUSTER, 2, flags))
        finally:
            connection.close()
        fenced = sorted(int(node.broker_id) for node in cluster.brokers if node.is_fenced)
        return {topic.name: [partition_words(part) for part in topic.partitions] for topic in described.topics}, fenced

    def _note_logs(self) -> None:
        """Note what each replica has stored, as consumers can fetch it (KIP-392)."""
        for plan in self._round.plans:
            for partition, replicas in enumerate(plan.replicas):
                for broker in replicas:
                    request = Ask(broker, partition, 12)
                    self._ask(plan, "log", request, broker)

    def _create(self) -> None:
        topics: list[Mapping[str, Any]] = [
            {
                "name": self._topics[plan.seed],
                "assignments": [
                    {"partition_index": index, "broker_ids": list(replicas)}
                    for index, replicas in enumerate(plan.replicas)
                ],
                "configs": [{"name": name, "value": value} for name, value in plan.configs.items()],
            }
            for plan in self._round.plans
        ]
        connection = self._target.connect(1)
        try:
            answer = ask(connection, self._target, CREATE_TOPICS, 7, frames.create_topics(topics))
        finally:
            connection.close()
        problems = [f"{topic.name}: {topic.error_message}" for topic in answer.topics if topic.error_code]
        if problems:
            raise RuntimeError(f"topics could not be made: {problems}")

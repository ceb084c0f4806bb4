"""A session: a fresh cluster in virtual time, a few connections, some hundred frames; what came of it, as a digest.

Theory   A session follows from its seed and number alone. So two processes that run the same one must end with the same
         digest, compiled or not. Time is virtual, so it is the same on a busy machine. The limit of a session is CPU
         time of this thread, which hardly depends on other processes.
Units    times in seconds unless the name says ms; sizes in bytes.
"""

from __future__ import annotations

import gc
import json
import resource
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b
from random import Random

from support.requests import api_versions
from support.simulation import SimulatedClient, Simulation

import fakebroker

from . import mutate
from .pool import Pool

FRAMES = 200  # of a session
CLIENTS = 3
SLOW_S = 0.25 if fakebroker.COMPILED else 2.5  # one frame, CPU time
# More for each partition that it makes: Kafka lets one request make 10,000, and so do we. Compiled it takes 0.10 to
# 0.15 ms on a quiet machine (coordinators' partitions as well), and twice that where others work beside.
PARTITION_S = SLOW_S / 1_000
# CreateTopics and CreatePartitions plan as many, also where nothing comes of it: they are validated alone, or refused.
MAKERS, MAY_MAKE = (b"\0\x13", b"\0\x25"), 10_000
GROWTH_BYTES = 200 << 20  # of the most resident memory, in one session
END_MS = 6_000

KINDS: dict[str, dict[str, str]] = {
    "plain": {},
    "compressed anew": {"compression.type": "gzip"},
    "append time": {"message.timestamp.type": "LogAppendTime"},
    "compacted": {"cleanup.policy": "compact"},
    "small": {"max.message.bytes": "400", "retention.bytes": "2000"},
    "strict": {"min.insync.replicas": "3", "message.timestamp.after.max.ms": "1000"},
}
FOLLOWERS = ("instant", "instant", "lagging:5", "frozen")
CONFIG = {"socket.request.max.bytes": "100000", "log.memory.bytes": "1000000"}


@dataclass(frozen=True)
class Step:
    client: int
    data: bytes
    then_ms: int  # pass
    goes: bool = False  # and the client with it


@dataclass(frozen=True)
class Plan:
    kind: str
    followers: str
    steps: tuple[Step, ...]

    def to_text(self) -> str:
        steps = [[step.client, step.data.hex(), step.then_ms, step.goes] for step in self.steps]
        return json.dumps({"kind": self.kind, "followers": self.followers, "steps": steps}, indent=0) + "\n"

    @staticmethod
    def of_text(text: str) -> Plan:
        parts = json.loads(text)
        steps = tuple(Step(client, bytes.fromhex(data), ms, goes) for client, data, ms, goes in parts["steps"])
        return Plan(parts["kind"], parts["followers"], steps)


@dataclass
class Outcome:
    digest: str = ""
    frames: int = 0
    answers: int = 0
    closed: int = 0
    problem: str = ""  # "bug", "slow" or "memory"
    text: str = ""
    covered: Counter[tuple[int, int]] = field(default_factory=Counter)


def plan(pool: Pool, seed: int, number: int) -> Plan:
    random = Random(f"{seed}/{number}")
    steps = []
    for _ in range(FRAMES):
        data = mutate.frame(random, pool)
        then_ms = random.choice((1, 7, 60)) if random.random() < 0.15 else 0
        if random.random() < 0.05:  # in two pieces
            cut = random.randrange(len(data))
            steps.append(Step(random.randrange(CLIENTS), data[:cut], 0))
            steps.append(Step(steps[-1].client, data[cut:], then_ms))
        else:
            steps.append(Step(random.randrange(CLIENTS), data, then_ms, random.random() < 0.02))
    return Plan(random.choice(list(KINDS)), random.choice(FOLLOWERS), tuple(steps))


class _Running:
    def __init__(self, plan: Plan) -> None:
        self.simulation = Simulation(followers=plan.followers, config=CONFIG, check_every=1 << 30)
        configs = {name.replace(".", "_"): value for name, value in KINDS[plan.kind].items()}
        self.simulation.topic("t", 2, 3, **configs)
        self.clients = [self.simulation.connect(1 + number) for number in range(CLIENTS)]
        self.gone: list[SimulatedClient] = []

    def client(self, number: int) -> SimulatedClient:
        if self.clients[number].connection.is_closed:
            self.gone.append(self.clients[number])
            self.clients[number] = self.simulation.connect(1 + number)
        return self.clients[number]

    def take(self, step: Step) -> tuple[float, float]:
        """Return the time that the frame took, and its limit. A full collection would look at what all sessions before
        have left: 0.15 s of CPU time and more, which is not the frame's."""
        client = self.client(step.client)
        before = self.partitions
        gc.disable()
        try:
            began = time.thread_time()
            client.send(step.data)
            took = time.thread_time() - began
        finally:
            gc.enable()
        made = MAY_MAKE if step.data[4:6] in MAKERS else max(self.partitions - before, 0)
        may_take = SLOW_S + PARTITION_S * made
        if step.then_ms:
            self.simulation.advance(step.then_ms)
        if step.goes and not client.connection.is_closed:
            client.disconnect()
        return took, may_take

    @property
    def partitions(self) -> int:
        """Return the number of partitions."""
        return sum(len(topic.partitions) for topic in self.simulation.cluster.metadata.topics())

    def end(self) -> None:
        self.simulation.advance(END_MS)
        self.simulation.cluster.check_invariants()
        other = self.simulation.connect()
        other.send(api_versions(version=0))
        assert len(other.answers) == 1, "a later connection is not served"


def run(plan: Plan) -> Outcome:
    outcome = Outcome()
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    running = _Running(plan)
    try:
        for step in plan.steps:
            outcome.frames += 1
            outcome.covered[int.from_bytes(step.data[4:6], "big"), int.from_bytes(step.data[6:8], "big")] += 1
            took, may_take = running.take(step)
            if took > may_take:
                outcome.problem, outcome.text = "slow", f"{took:.2f} s of CPU time for {len(step.data)} bytes"
                break
        else:
            running.end()
    except Exception:
        outcome.problem, outcome.text = "bug", traceback.format_exc()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - resident) * 1024
    if not outcome.problem and grown > GROWTH_BYTES:
        outcome.problem, outcome.text = "memory", f"{grown >> 20} MiB more than ever"
    digest = blake2b(digest_size=16)
    for client in [*running.gone, *running.clients]:
        outcome.answers += len(client.answers)
        outcome.closed += client.closed is not None
        for at_ms, frame in client.answers:
            digest.update(b"%d %d " % (at_ms, len(frame)) + frame)
        digest.update(f"{client.closed_ms} {client.closed}".encode())
    outcome.digest = digest.hexdigest()
    return outcome

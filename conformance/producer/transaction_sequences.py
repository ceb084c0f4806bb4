"""Random sequences of commands for a sender with a transaction manager, from a seed.

The order of calls is that of a program more often than not; the rest is as bad as chance has it. Back-off is never 0:
Kafka's thread would try for ever at the same millisecond.
"""

from __future__ import annotations

from random import Random
from typing import Any

from conformance.producer.sequences import base_config, plain_sender_command

Json = dict[str, Any]

_RETRIABLE = (7, 6, 3, 19, 20, 2)
_SEQUENCE = (45, 45, 45, 59, 59, 46, 47)
_FINAL = (10, 10, 18, 29, 31, 53, 48, 49, 51, 90, 120, 35, 87, 74)
_TXN_ERRORS = (  # asked again, to be aborted, and the end
    (15, 16, 14, 51, 51, 7, 7, 3),
    (59, 120, 30, 29, 55, 22, 25, 82),
    (47, 90, 53, 31, 48, 49, 43, 35, -1, 5),
)
_MOST_COMMANDS = 90


def idempotent_sequence(generation: str, seed: int) -> Json:
    """{"generation", "config", "commands"}."""
    random = Random(f"idempotent-{generation}-{seed}")
    return _sequence(generation, random, "idempotent")


def transactional_sequence(generation: str, seed: int) -> Json:
    """Return a sequence with a transactional id."""
    random = Random(f"transactional-{generation}-{seed}")
    return _sequence(generation, random, "transactional")


def _sequence(generation: str, random: Random, mode: str) -> Json:
    config = base_config(generation, random) | {
        "mode": mode,
        "acks": -1,
        "retries": random.choice([1, 3, 2**31 - 1, 2**31 - 1]),
        "guarantee_order": random.random() < 0.15,
        "max_request_size": random.choice([1, 400, 1_000_000]),
        "retry_backoff_ms": random.choice([7, 20, 25]),
        "buffer_memory": random.choice([900, 2_000, 100_000]),
        "harm": random.choice([0.0, 0.1, 0.35]),
    }
    if random.random() < 0.5:  # few partitions, so that several batches of one are in flight
        config["partitions"] = config["partitions"][:2]
    count = random.randint(10, _MOST_COMMANDS)
    commands: list[Json] = []
    if mode == "transactional" and random.random() < 0.9:
        commands += _begin(generation, random)
    while len(commands) < count:
        commands += _command(generation, config, random, len(commands), mode)
    return {"generation": generation, "config": config, "commands": commands}


def _begin(generation: str, random: Random) -> list[Json]:
    """initTransactions and what it takes, then beginTransaction."""
    commands: list[Json] = []
    if generation != "2.0":
        commands += [_versions(random) for _ in range(random.choice([0, 1, 1, 2]))]
    commands.append({"do": "txn", "op": "init"})
    for _ in range(5):
        commands += [_run(random, 0.0), _respond(generation, random, 0.0)]
    return [*commands, {"do": "txn", "op": "await", "which": 0}, {"do": "txn", "op": "begin"}]


def _command(generation: str, config: Json, random: Random, at: int, mode: str) -> list[Json]:
    harm = config["harm"]
    kind = random.choices(
        ("append", "run", "respond", "tick", "drop", "unready", "txn", "versions", "other"),
        (26, 30, 24, 8, 4 * harm, 6 * harm, 9 if mode == "transactional" else 0, 1, 2),
    )[0]
    if kind == "run":
        return [_run(random, harm)]
    if kind == "respond":
        return [_respond(generation, random, harm)]
    if kind == "tick":
        return [{"do": "tick", "ms": random.choice([1, 5, 7, 10, 20, 25, 31, 100])}]
    if kind == "drop":
        return [{"do": "drop", "which": random.randrange(9)}]
    if kind == "unready":
        node = random.choice([1, 2, 3])
        is_failed = random.random() < 0.3
        return [{"do": kind, "node": node, "ms": random.choice([0, 5, 40, 200, 400]), "failed": is_failed}]
    if kind == "versions":
        return [_versions(random)] if generation != "2.0" else []
    if kind == "txn":
        return _call(generation, random, harm)
    while True:
        command = plain_sender_command(generation, config, random, at)
        if kind == "append" and command["do"] == "append":
            return [command | {"block_ms": 0}]
        if kind == "other" and command["do"] in ("flush", "flushed", "lead"):
            return [command]


def _call(generation: str, random: Random, harm: float) -> list[Json]:
    op = random.choices(("commit", "abort", "offsets", "begin", "init", "await"), (5, 3, 6, 3, harm, 4))[0]
    if op == "offsets":
        offsets = [[index, random.randrange(50)] for index in random.sample(range(4), random.randint(1, 3))]
        return [{"do": "txn", "op": op, "offsets": offsets}]
    if op == "await":
        return [{"do": "txn", "op": op, "which": random.choice([0, 0, 0, 1])}]
    if op in ("commit", "abort") and random.random() < 0.7:  # as a program does, until the next has begun
        commands: list[Json] = [{"do": "txn", "op": op}]
        for _ in range(6):
            commands += [_run(random, harm), _respond(generation, random, harm)]
        return [*commands, {"do": "txn", "op": "await", "which": 0}, {"do": "txn", "op": "begin"}]
    return [{"do": "txn", "op": op}]


def _run(random: Random, harm: float) -> Json:
    ids = []
    while random.random() < harm:
        ids.append([random.choice([-2, 14, 15, 16, 51, 31, 0]), random.randrange(8_000, 8_100)])
    return {
        "do": "run",
        "least": random.choice([1, 2]),
        "no_node": random.choice([1, 2]) if random.random() < harm else 0,
        "ids": ids,
    }


def _respond(generation: str, random: Random, harm: float) -> Json:
    errors = [_produce_error(random, harm) for _ in range(random.randint(1, 3))]
    return {
        "do": "respond",
        "which": random.choice([0, 0, random.randrange(9)]),
        "errors": errors,
        "txn_errors": [_txn_error(random) if random.random() < harm else 0 for _ in range(3)],
        "throttle_ms": 0,
        "refused": [0] if generation != "2.0" and random.random() < 0.1 else [],
        "base": random.choice([-1, 0, 1_000, 2_000]),
        "log_start": random.choice([-1, 0, 1_500, 3_000]),
        "node": random.choice([1, 2, 3]),
        "id": random.randrange(500, 510),
        "epoch": random.choice([0, 1, 5, 32_766]),
    }


def _produce_error(random: Random, harm: float) -> int:
    if random.random() >= 2 * harm:
        return 0
    return random.choice(random.choices((_RETRIABLE, _SEQUENCE, _FINAL), (5, 4, 1))[0])


def _txn_error(random: Random) -> int:
    return random.choice(random.choices(_TXN_ERRORS, (6, 3, 1))[0])


def _versions(random: Random) -> Json:
    return {
        "do": "versions",
        "node": random.choice([1, 2, 3]),
        "init": random.choice([2, 5, 5, 6]),
        "epoch": random.randrange(10),
        "level": random.choice([0, 1, 2, 2]),
    }

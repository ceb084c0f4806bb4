"""Random sequences of commands for an accumulator, from a seed.

Sizes are small, so that batches become full, memory runs out and requests are split; times are few, so that limits are
met exactly and missed by a millisecond.
"""

from __future__ import annotations

from random import Random
from typing import Any

Json = dict[str, Any]

RELEASES = {"2.0": "2.0.1", "4.3": "4.3.0"}  # by generation
_UNKNOWN = -1
_OF_SENDER = ("append", "tick", "flush", "flushed", "lead", "interrupt")
# What a broker answers: most often nothing wrong, or one of each kind.
_ERRORS = (0, 0, 0, 0, 7, 7, 6, 3, 10, 10, 2, 19, 20, 9, 13, 18, 29, 46, 51, 56, 87)
_MOST_COMMANDS = 60


def sequence(generation: str, seed: int) -> Json:
    """{"generation", "config", "commands"}."""
    random = Random(f"{generation}-{seed}")
    config = base_config(generation, random)
    commands = [_command(generation, config, random, record) for record in range(random.randint(5, _MOST_COMMANDS))]
    return {"generation": generation, "config": config, "commands": commands}


def sender_sequence(generation: str, seed: int) -> Json:
    """Return a sequence for a sender."""
    random = Random(f"sender-{generation}-{seed}")
    config = base_config(generation, random) | {
        "acks": random.choice([-1, -1, 1, 0]),
        "retries": random.choice([0, 1, 3, 2**31 - 1]),
        "guarantee_order": random.random() < 0.4,
        "max_request_size": random.choice([1, 400, 1_000_000]),
    }
    commands = [plain_sender_command(generation, config, random, at) for at in range(random.randint(5, _MOST_COMMANDS))]
    return {"generation": generation, "config": config, "commands": commands}


def compressed_sequence(generation: str, seed: int) -> Json:
    """Return a sequence for a sender with compression, and with larger batches. One node leads all. The order in which
    nodes are drained depends in Kafka on the hashes of their addresses, and changes the ratios."""
    random = Random(f"compressed-{generation}-{seed}")
    config = base_config(generation, random) | {
        "codec": random.choice([1, 2, 3] if generation == "2.0" else [1, 2, 3, 4]),
        "batch_size": random.choice([150, 300, 700, 2_000]),
        "buffer_memory": random.choice([2_000, 9_000, 100_000]),
        "acks": -1,
        "retries": random.choice([0, 3, 2**31 - 1]),
        "guarantee_order": random.random() < 0.3,
        "max_request_size": random.choice([1, 400, 1_000_000]),
    }
    if random.random() < 0.6:
        config["partitions"] = config["partitions"][:2]
    commands: list[Json] = []
    for at in range(random.randint(20, 60)):
        command = plain_sender_command(generation, config, random, at)
        copies = random.choice([1, 2, 5]) if command["do"] == "append" else 1  # what repeats becomes small
        commands += [command | ({"record": at + 1_000 * copy} if copy else {}) for copy in range(copies)]
    for partition in [*config["partitions"], *(one["partition"] for one in commands if one["do"] == "lead")]:
        partition[2] = min(partition[2], 1)
    return {"generation": generation, "config": config, "commands": commands}


def flight_sequence(generation: str, seed: int) -> Json:
    """Return a sequence for the requests in flight."""
    random = Random(f"flight-{generation}-{seed}")
    config = base_config(generation, random) | {"most": random.choice([1, 2, 5])}
    commands = [_flight_command(random, at) for at in range(random.randint(5, _MOST_COMMANDS))]
    return {"generation": generation, "config": config, "commands": commands}


def _flight_command(random: Random, at: int) -> Json:
    if random.random() < 0.3:
        return {"do": "tick", "ms": random.choice([0, 1, 9, 10, 11, 30])}
    operation = random.choices(("add", "written", "next", "last", "clear", "throttle", "look"), (8, 6, 3, 1, 1, 2, 2))[
        0
    ]
    node = random.choice([1, 2, 3, 18, 33, 100, 2147483646])
    return {
        "do": "flight", "op": operation, "node": node, "id": at, "timeout_ms": random.choice([10, 30]),
        "ms": random.choice([1, 10]),
    }  # fmt: skip


def plain_sender_command(generation: str, config: Json, random: Random, record: int) -> Json:
    """One for a sender."""
    kind = random.choices(("same", "run", "respond", "drop", "unready"), (40, 30, 15, 4, 2))[0]
    if kind == "same":
        while (command := _command(generation, config, random, record))["do"] not in _OF_SENDER:
            pass
        return command
    if kind == "respond":
        errors = [random.choice(_ERRORS) for _ in range(random.randint(1, 3))]
        refused = [] if generation == "2.0" else random.choice([[], [], [0], [1], [0, 2]])
        return {
            "do": kind,
            "which": random.randrange(9),
            "errors": errors,
            "throttle_ms": random.choice([0, 0, 10]),
            "refused": refused,
        }
    if kind == "drop":
        return {"do": kind, "which": random.randrange(9)}
    if kind == "unready":
        return {"do": kind, "node": random.choice([1, 2, 3]), "ms": random.choice([0, 5, 40])}
    return {"do": kind}


def base_config(generation: str, random: Random) -> Json:
    """Return the configuration of an accumulator."""
    batch_size = random.choice([1, 90, 150, 300, 700])
    nodes = random.randint(1, 3)
    topics = random.sample(["t", "orders", "a.b", "kafkatest"], random.randint(1, 3))
    partitions = [
        [topic, index, random.choice([-1, *range(1, nodes + 1)] if random.random() < 0.3 else range(1, nodes + 1)), 0]
        for topic in topics
        for index in range(random.choice([1, 2, 3, 5, 13]))
    ]
    random.shuffle(partitions)
    request_timeout_ms = random.choice([10, 30, 100])
    linger_ms = random.choice([0, 0, 5, 20])
    return {
        "batch_size": batch_size,
        "buffer_memory": random.choice([400, 900, 2_000, 100_000]),
        "linger_ms": linger_ms,
        "retry_backoff_ms": random.choice([0, 7, 20]),
        "retry_backoff_max_ms": random.choice([20, 50]) if generation != "2.0" else 0,
        "request_timeout_ms": request_timeout_ms,
        "delivery_timeout_ms": request_timeout_ms + linger_ms + random.choice([0, 25]),
        "adaptive": random.random() < 0.7,
        "availability_timeout_ms": random.choice([0, 0, 10]),
        "randoms": [random.randrange(2**31) for _ in range(7)],
        "partitions": partitions,
    }


def _command(generation: str, config: Json, random: Random, record: int) -> Json:
    topic, index, _, epoch = random.choice(config["partitions"])
    node = random.choice([1, 1, 2, 3])
    kind = random.choices(
        (
            "append", "tick", "ready", "drain", "expire", "answer", "mute", "unmute", "flush", "flushed", "lead",
            "latency", "choose", "interrupt", "abort", "abort_undrained", "close",
        ),
        (40, 14, 12, 12, 8, 12, 2, 3, 1, 1, 2, 2, 2, 3, 0.3, 0.3, 0.3),
    )[0]  # fmt: skip
    if kind == "append":
        return {
            "do": kind,
            "record": record,
            "partition": [topic, _UNKNOWN if generation != "2.0" and random.random() < 0.5 else index],
            "timestamp": random.choice([0, 0, 5, 300, 20_000]),
            "key": random.choice([None, 0, 3, 70]),
            "value": random.choice([None, 0, 8, 60, 64, 200, 600]),
            "headers": random.choice([[], [], [], [None], [3, 0]]),
            "block_ms": random.choice([0, 10, 30, 1_000]),
        }
    if kind == "tick":
        return {"do": kind, "ms": random.choice([1, 1, 4, 5, 10, 20, 30, 31, 100, 101])}
    if kind == "drain":
        nodes = random.sample([1, 2, 3], random.randint(1, 3))
        return {"do": kind, "nodes": nodes, "max_size": random.choice([1, 200, 400, 100_000])}
    if kind == "answer":
        with_what = random.choices(("ok", "retry", "fail", "split"), (4, 4, 1, 2))[0]
        return {"do": kind, "which": random.randrange(100), "with": with_what}
    if kind == "mute":
        return {"do": kind, "partition": [topic, index]}
    if kind == "unmute":
        return {"do": kind, "partition": [topic, index], "until": random.choice([0, 0, 5, 30])}
    if kind == "lead":
        return {"do": kind, "partition": [topic, index, random.choice([-1, node, node]), epoch + random.randint(0, 3)]}
    if kind == "choose":
        return {"do": kind, "topic": topic, "key": random.choice([None, None, *range(9), 70]), "seed": record}
    if kind == "interrupt":
        return {"do": kind, "which": random.randrange(100)}
    if kind == "latency":
        return {"do": kind, "node": node, "can_drain": random.random() < 0.5}
    return {"do": kind}

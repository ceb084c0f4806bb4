"""Random sequences of commands for the network client and the metadata of a producer, from a seed.

A poll says how long it takes and what happens to connections meanwhile; what does not fit (an answer where nothing was
asked) does not happen. Times are few, so that limits are met exactly and missed by a millisecond.
"""

from __future__ import annotations

from random import Random
from typing import Any

Json = dict[str, Any]

_TOPICS = ["t", "orders", "a.b", "kafkatest"]
_TIMES_MS = (0, 0, 0, 1, 1, 5, 10, 11, 20, 31)
# Of Produce, Metadata and ApiVersions: what brokers serve. (2.0 breaks where Produce has nothing in common.)
_RANGES = (
    *[[[0, 0, 13], [3, 0, 13], [18, 0, 4]]] * 8,
    [[0, 3, 6], [3, 1, 5], [18, 0, 2]],
    [[0, 5, 8], [3, 6, 11], [18, 0, 3]],
    [[0, 0, 2], [3, 0, 13], [18, 0, 4]],
    [[0, 0, 1], [3, 0, 13], [18, 5, 6]],
)
_NO_METADATA = [[0, 0, 13], [3, 20, 21], [18, 0, 4]]
_MOST_COMMANDS = 60


def network_sequence(generation: str, seed: int) -> Json:
    """{"generation", "config", "commands"}."""
    random = Random(f"network-{generation}-{seed}")
    config = _config(random)
    commands = [_network_command(config, random) for _ in range(random.randint(5, 2 * _MOST_COMMANDS))]
    return {"generation": generation, "config": config, "commands": commands}


def metadata_sequence(generation: str, seed: int) -> Json:
    """Return a sequence for the metadata alone."""
    random = Random(f"metadata-{generation}-{seed}")
    config = _config(random)
    commands = [_metadata_command(generation, random) for _ in range(random.randint(5, _MOST_COMMANDS))]
    return {"generation": generation, "config": config, "commands": commands}


def _config(random: Random) -> Json:
    bootstrap = [f"127.0.0.{100 + at}" for at in range(random.choice([1, 1, 2, 3]))]
    reconnect_ms = random.choice([5, 10, 20])
    return {
        "network": True,
        "bootstrap": bootstrap,
        "nodes": [*(-at - 1 for at in range(len(bootstrap))), 1, 2, 3],
        "topics": _TOPICS,
        "most": random.choice([1, 2, 5]),
        "reconnect_backoff_ms": reconnect_ms,
        "reconnect_backoff_max_ms": reconnect_ms * random.choice([1, 4, 7]),
        "setup_timeout_ms": random.choice([10, 30]),
        "setup_timeout_max_ms": random.choice([30, 70]),
        "request_timeout_ms": random.choice([10, 30, 100]),
        "retry_backoff_ms": random.choice([0, 1, 5, 10]),
        "retry_backoff_max_ms": random.choice([10, 35]),
        "metadata_max_age_ms": random.choice([20, 50, 1_000, 300_000, 300_000]),
        "metadata_max_idle_ms": random.choice([5_000, 300_000]),
        "recovery": random.choice(["none", "rebootstrap"]),
        "rebootstrap_trigger_ms": random.choice([20, 60, 300_000]),
        "randoms": [random.randrange(2**31) for _ in range(7)],
    }


def _network_command(config: Json, random: Random) -> Json:
    kind = random.choices(
        ("poll", "send", "ready", "tick", "add", "request", "disconnect", "close", "least"),
        (50, 24, 14, 3, 3, 1, 1, 0.5, 2),
    )[0]
    node = random.choice([*config["nodes"], 1, 1, 1, 2, 2])
    if kind == "poll":
        return {
            "do": kind,
            "timeout": random.choice([0, 5, 100]),
            "ms": random.choice(_TIMES_MS),
            "write": random.random() < 0.9,
            "events": _events(config, random),
        }
    if kind == "send":
        return {"do": kind, "node": random.choice([1, 1, 2, node]), "expects": random.random() < 0.85}
    if kind == "ready":
        return {"do": kind, "node": node, "host": _host(node, config, random)}
    if kind == "tick":
        return {"do": kind, "ms": random.choice(_TIMES_MS)}
    if kind == "add":
        return {"do": kind, "topic": random.choice(_TOPICS)}
    return {"do": kind, "node": node}


def _metadata_command(generation: str, random: Random) -> Json:
    kind = random.choices(
        ("add", "request", "request_for", "fail", "ask", "answer_asked", "leaders", "topic_error", "tick"),
        (15, 6, 6, 5, 20, 30, 6, 6, 20),
    )[0]
    if kind == "answer_asked":
        return {"do": kind, "version": random.choice([8, 9, 13, 13, 13]), **_answer(random)}
    if kind == "leaders":
        return {
            "do": kind,
            "leaders": [
                [random.choice(_TOPICS), at, random.choice([-1, 1, 2, 3, 4]), random.randint(-1, 5)]
                for at in range(random.randint(1, 3))
            ],
            "brokers": _brokers(random),
        }
    if kind == "tick":
        return {"do": kind, "ms": random.choice([*_TIMES_MS, 4_999, 5_000, 299_999, 300_000])}
    return {"do": kind, "topic": random.choice(_TOPICS)}


def _events(config: Json, random: Random) -> list[Json]:
    """Return the events of a poll. In one poll of three all is well: each connect succeeds, each request gets a
    response."""
    share = random.choice([0.0, 0.4, 0.9])
    events = []
    for node in random.sample(config["nodes"], len(config["nodes"])):
        if random.random() < share:
            events.append({"what": "connect", "node": node})
        if random.random() < share:
            events.append(_answered(node, random))
        if random.random() < 0.02:
            events.append({"what": random.choice(["refuse", "lose"]), "node": node})
    return events


def _answered(node: int, random: Random) -> Json:
    error = random.choice([0] * 30 + [35, 35, 41])
    ranges = random.choice(_RANGES) if random.random() < 0.99 else _NO_METADATA
    if error == 35 and random.random() < 0.3:
        ranges = []
    answer = _answer(random) if random.random() < 0.3 else _answer(random) | {"topics": []}
    return {"what": "answer", "node": node, "error": error, "ranges": ranges, **answer}


def _answer(random: Random) -> Json:
    return {
        "throttle_ms": random.choice([0, 0, 0, 0, 0, 5, 20]),
        "whole_error": random.choice([0] * 40 + [129]),
        "brokers": _brokers(random),
        "topics": [_topic(name, random) for name in random.sample(_TOPICS, random.randint(0, 3))],
    }


def _brokers(random: Random) -> list[Any]:
    hosts = ["127.0.0.1"] * 15 + ["127.0.0.9"]
    return [
        [node, random.choice(hosts), 9092 + node] for node in random.sample([1, 2, 3], random.choice([0, 2, *[3] * 6]))
    ]


def _topic(name: str, random: Random) -> list[Any]:
    error = random.choice([0] * 8 + [3, 5, 17, 29])
    partitions = [
        [at, random.choice([-1, 1, 2, 3]), random.choice([-1, 0, 1, 1, 2, 3]), random.choice([0] * 8 + [5, 9, 72])]
        for at in range(random.choice([1, 2, 3, 13]))
    ]
    return [name, error, random.choice([0, 1, 1, 1, 2]), [] if error else partitions]


def _host(node: int, config: Json, random: Random) -> str:
    if node < 0:
        return str(config["bootstrap"][-node - 1])
    return random.choice(["127.0.0.1"] * 15 + ["127.0.0.9"])

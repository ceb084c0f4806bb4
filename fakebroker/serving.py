"""What `fakebroker serve` runs: a cluster in a process of its own, until a signal comes."""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import logging
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fakebroker.core.errors import KafkaError
from fakebroker.core.quota.quota import QuotaEntity
from fakebroker.server.async_cluster import AsyncFakeCluster
from fakebroker.server.loops import new_event_loop
from fakebroker.server.running.no_more_files import tell_of_no_more_files
from fakebroker.server.writing.announcement import Announcement

_OTHER_PORT_HELPS = {errno.EADDRINUSE, errno.EACCES}
_FULL_COLLECTION_AFTER = 100  # collections of the middle generation, each after 7,000 objects more; Python's 10
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

# The arguments of create_topic(); and of whom a quota is (user, client id), with what it allows.
TopicSpec = tuple[str, int, int, Mapping[str, str], Sequence[Sequence[int]] | None]
QuotaSpec = tuple[str | None, str | None, Mapping[str, float]]

log = logging.getLogger("fakebroker")


def serve_until_signal(
    topics: Sequence[TopicSpec],
    quotas: Sequence[QuotaSpec],
    ready_file: Path | None,
    unknown: Sequence[str] = (),
    **arguments: Any,
) -> str | None:
    """Run an AsyncFakeCluster of these arguments until SIGINT or SIGTERM; a second one ends the process at once.
    `unknown` are names of settings that were given and mean nothing.
    Returns what is wrong with an option or went wrong at the start, as a sentence; None if nothing did."""
    try:
        cluster = AsyncFakeCluster(**arguments, journal=0)
    except (ValueError, KafkaError) as error:
        return str(error)
    try:
        announcement = Announcement(ready_file)
    except OSError as error:
        return f"--ready-file {ready_file}: {error.strerror}"
    if unknown:
        log.warning("not settings of Kafka 4.4, without effect here: %s", ", ".join(sorted(unknown)))
    loop = new_event_loop()
    tell_of_no_more_files(loop)
    try:
        return loop.run_until_complete(_serve(cluster, topics, quotas, announcement, ready_file))
    finally:
        announcement.close()
        loop.close()


async def _serve(
    cluster: AsyncFakeCluster,
    topics: Sequence[TopicSpec],
    quotas: Sequence[QuotaSpec],
    announcement: Announcement,
    ready_file: Path | None,
) -> str | None:
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stopped.set)
    try:
        await cluster.start()
    except OSError as error:
        if error.filename is not None:
            return f"--journal {error.filename}: {error.strerror}"
        return _why_not_listening(error)
    try:
        for topic in topics:
            try:
                cluster.create_topic(*topic)
            except KafkaError as error:
                return f"--topic {topic[0]}: {error}"
        for user, client_id, alterations in quotas:
            try:
                cluster._alter_quotas(QuotaEntity(user, client_id), alterations)
            except KafkaError as error:
                return f"--quota: {error}"
        _collect_seldom()
        facts = _facts(cluster)
        line = f"fakebroker ready: bootstrap_servers={facts['bootstrap_servers']} pid={facts['pid']}"
        try:
            announcement.make(line, json.dumps(facts))
        except OSError as error:
            return f"--ready-file {ready_file}: {error.strerror}"
        await stopped.wait()
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
        _leave_to_the_system(cluster._running)
        return None
    finally:
        await cluster.stop()


def _collect_seldom() -> None:
    """Keep full collections of garbage out of the answers: one walks over all there is, the modules and every
    connection, which takes 100 ms with 10,000 of those. Nothing needs them: with uvloop what a connection and its
    requests have made is gone when it is dropped (tests/server/test_garbage.py)."""
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, _FULL_COLLECTION_AFTER)


def _leave_to_the_system(thing: object) -> None:
    """It is not taken apart any more, object by object, which takes 9 s with 100,000 topics: the system takes back all
    memory at once. What is in a ring goes when garbage is collected, and what is frozen is not looked at then."""
    ring = [thing]
    ring.append(ring)
    gc.freeze()


def _why_not_listening(error: OSError) -> str:
    advice = "; take another --port, or --port 0 for free ones" if error.errno in _OTHER_PORT_HELPS else ""
    return f"cannot listen: {error.strerror or error}{advice}"


def _facts(cluster: AsyncFakeCluster) -> dict[str, Any]:
    return {
        "bootstrap_servers": cluster.bootstrap_servers,
        "brokers": [{"id": b.node_id, "host": b.host, "port": b.port} for b in cluster.endpoints],
        "control_url": None,
        "pid": os.getpid(),
    }

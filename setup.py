"""Which modules mypyc compiles, for build_backend.py. Everything else about the package is in pyproject.toml."""

from __future__ import annotations

import os

from setuptools import setup

# What a Produce request passes, the timer, the simulation and its oracle: a module is here because it gains
# (docs/speed.md).
COMPILED = [
    "fakebroker/apis/context.py",
    "fakebroker/apis/fetch.py",
    "fakebroker/apis/produce.py",
    "fakebroker/apis/registry.py",
    "fakebroker/cluster/cluster.py",
    "fakebroker/cluster/dispatcher.py",
    "fakebroker/cluster/members.py",
    "fakebroker/core/broker/broker.py",
    "fakebroker/core/broker_registry.py",
    "fakebroker/core/clock.py",
    "fakebroker/core/controller/controller.py",
    "fakebroker/core/controller/metadata_cache.py",
    "fakebroker/core/controller/producer_ids.py",
    "fakebroker/core/controller/topics.py",
    "fakebroker/core/log/append.py",
    "fakebroker/core/log/batch.py",
    "fakebroker/core/log/batch_validation.py",
    "fakebroker/core/log/cold_log.py",
    "fakebroker/core/log/contents.py",
    "fakebroker/core/log/eviction.py",
    "fakebroker/core/log/leader_epochs.py",
    "fakebroker/core/log/log.py",
    "fakebroker/core/log/log_validator.py",
    "fakebroker/core/log/memory.py",
    "fakebroker/core/log/plain_append.py",
    "fakebroker/core/log/producer_state.py",
    "fakebroker/core/log/retention.py",
    "fakebroker/core/log/segment.py",
    "fakebroker/core/probe.py",
    "fakebroker/core/purgatory/deadlines.py",
    "fakebroker/core/purgatory/delayed_operation.py",
    "fakebroker/core/purgatory/purgatory.py",
    "fakebroker/core/replication/append_info.py",
    "fakebroker/core/replication/delayed_fetch.py",
    "fakebroker/core/replication/delayed_produce.py",
    "fakebroker/core/replication/fetch.py",
    "fakebroker/core/replication/follower.py",
    "fakebroker/core/replication/followers.py",
    "fakebroker/core/replication/isr.py",
    "fakebroker/core/replication/partition.py",
    "fakebroker/core/replication/reads.py",
    "fakebroker/core/replication/replica.py",
    "fakebroker/core/replication/replica_manager.py",
    "fakebroker/core/replication/wakeups.py",
    "fakebroker/network/connection.py",
    "fakebroker/network/idle_expiry.py",
    "fakebroker/network/open_connections.py",
    "fakebroker/network/ready_queue.py",
    "fakebroker/network/socket_server.py",
    "fakebroker/network/throttled_channel.py",
    "fakebroker/network/turn.py",
    "fakebroker/protocol/answers/fetch_response.py",
    "fakebroker/protocol/answers/pieces.py",
    "fakebroker/protocol/framing.py",
    "fakebroker/protocol/headers.py",
    "fakebroker/protocol/large_frame.py",
    "fakebroker/protocol/plain_batch.py",
    "fakebroker/protocol/produce_reader.py",
    "fakebroker/protocol/produce_request.py",
    "fakebroker/protocol/produce_response.py",
    "fakebroker/protocol/record_batch.py",
    "fakebroker/protocol/record_walk.py",
    "fakebroker/protocol/topic_partition.py",
    "fakebroker/protocol/varint.py",
    "fakebroker/server/measured_turn.py",
    "fakebroker/server/system_clock.py",
    "fakebroker/testing/clients.py",
    "fakebroker/testing/compare.py",
    "fakebroker/testing/invariants.py",
    "fakebroker/testing/oracle.py",
    "fakebroker/testing/oracle_partition.py",
    "fakebroker/testing/run.py",
    "fakebroker/testing/side_by_side.py",
    "fakebroker/testing/simulation.py",
    "fakebroker/testing/wire.py",
    "fakebroker/testing/worlds.py",
    "timingwheel/delay_queue.py",
    "timingwheel/due_queue.py",
    "timingwheel/task.py",
    "timingwheel/task_list.py",
    "timingwheel/timer.py",
    "timingwheel/wheel.py",
]

ext_modules = []
if os.environ.get("FAKEBROKER_COMPILING") == "1":
    from mypyc.build import mypycify

    # Not pyproject's settings for mypy. What else the modules import is looked at for its types alone.
    options = ["--config-file=", "--ignore-missing-imports", "--follow-imports=silent", "--python-version=3.11"]
    ext_modules = mypycify([*options, *COMPILED], opt_level="2", debug_level="0", group_name="fakebroker")

setup(ext_modules=ext_modules)

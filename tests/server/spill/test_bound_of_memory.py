"""The limit log.memory.bytes is memory of the process: a separate process is measured, with the smallest batches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

MIB = 1 << 20
BOUND = 8 * MIB
BATCHES = 50_000  # twice as many as fit

FILL = """
import gc
from fakebroker.cluster.cluster import Cluster
from fakebroker.core.clock import Now
from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.controller.topics import NewTopic
from fakebroker.protocol.record_batch import Record, encode_batch
from fakebroker.server.spill.file import SpillFile

def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))

now = Now(0, 1_700_000_000_000)
config = BrokerConfig().with_text({{"log.memory.bytes": "{bound}", "log.memory.full": "{full}"}})
store = SpillFile()
cluster = Cluster(now, 3, config, store=store)
cluster.admin.create_topic(NewTopic("t", 1, 3), now)
partition = cluster.metadata.find_partition("t", 0)
records = encode_batch([Record(None, b"")], base_timestamp_ms=now.wall_ms)

def append(times):
    for _ in range(times):
        partition.append_records_to_leader(bytes(bytearray(records)), True, 1, now)
        cluster.followers.on_leader_append(partition, now)

append(100)
gc.collect()
before = resident()
append({batches})
print(len(records), resident() - before, partition.leader_log.log_start_offset, store.size)
store.close()
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the resident memory is unknown here")
@pytest.mark.parametrize("full", ["spill", "delete"])
def test_the_smallest_batches_stay_within_the_bound(full: str) -> None:
    """The batches took 1.4 GiB for 256 MiB when only their bytes counted."""
    done = subprocess.run(
        [sys.executable, "-c", FILL.format(bound=BOUND, full=full, batches=BATCHES)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    size, growth, start, stored = map(int, done.stdout.split())
    assert size < 80
    assert growth <= 1.25 * BOUND
    assert (start > 0, stored > 0) == (full == "delete", full == "spill")

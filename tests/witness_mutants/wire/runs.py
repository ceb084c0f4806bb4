"""Short runs with one altered message: requests and reads, without Spark."""

from __future__ import annotations

import gc
import traceback
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from fakebroker_load.errors import USER_ERRORS
from fakebroker_load.scenario.batches import ENDS
from fakebroker_load.scenario.model import LoadScenario, RequestGroup
from fakebroker_load.traffic import members, readers
from witness_mutants.recording import record
from witness_mutants.small import LATE_MS
from witness_mutants.wire.altering import Alteration
from witness_mutants.wire.messages import Message
from witness_mutants.wire.tap import Done, Tap

SEED = 1
CONFIG = {"group.initial.rebalance.delay.ms": 0}
LATE_LIMIT_MS = 1_000  # less than a frame is delayed
STALLED_S = 3.0  # readers give up sooner than usually

EACH = RequestGroup("each", "t", 1, "NONE", partitions=2, connections=2, requests_per_connection=3)
REPLICATED = replace(EACH, name="replicated", topic="u", acks=-1)
TIMED_OUT = replace(EACH, name="all", acks=-1, expect="REQUEST_TIMED_OUT", waits=True, timeout_ms=(20, 40))
READ = RequestGroup("readers", "u", -1, "NONE", client="reader", partitions=2, connections=2)
FROZEN = ({"topic": "t", "behaviour": "frozen"},)
SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        LoadScenario(
            "plain",
            (TIMED_OUT, EACH, replace(EACH, name="none", acks=0, expect="no answer"), REPLICATED, READ),
            brokers=3,
            followers=FROZEN,
        ),
        LoadScenario(
            "wide",
            (
                replace(
                    TIMED_OUT,
                    beside={"u": "NONE"},
                    partitions_per_request=2,
                    records_per_batch=2,
                    compression="zstd",
                    headers=1,
                    idempotent=True,
                ),
                replace(REPLICATED, topic="v", records_per_batch=2, headers=1),
            ),
            brokers=3,
            followers=FROZEN,
            assignments={topic: [[1, 2, 3]] * 2 for topic in ("t", "u")},
            configs={"v": {"message.timestamp.type": "LogAppendTime"}},
        ),
        LoadScenario(
            "transactions",
            tuple(replace(REPLICATED, name=end, beside={"v": "NONE"}, transaction=end) for end in ENDS),
            brokers=3,
            assignments={topic: [[1, 2, 3]] * 2 for topic in ("u", "v")},
        ),
        LoadScenario(
            "members",
            (
                replace(REPLICATED, requests_per_connection=5, pause_ms=40),
                replace(READ, name="members", client="member", life_ms=(200, 400)),
            ),
            brokers=3,
        ),
    )
}


class Played(NamedTuple):
    """The result of a run. `done` is None if there was nothing to alter. `refused` is the sentence with which the load
    ended without a verdict, `crash` a traceback."""

    done: Done | None
    refused: str | None = None
    crash: str | None = None

    @property
    def is_whole(self) -> bool:
        """Return True if there is something to judge."""
        return self.done is not None and self.refused is None and self.crash is None


def play(name: str, alteration: Alteration, folder: Path) -> Played:
    """Run the scenario with one message altered, into the folder."""
    return play_tapped(name, Tap(alteration), folder)


def play_tapped(name: str, tap: Tap, folder: Path) -> Played:
    gc.collect()
    gc.freeze()  # what is there anyway is not searched again in each run
    with pytest.MonkeyPatch.context() as patches, tap.listening():
        for module in (readers, members):
            patches.setattr(module, "STALLED_S", STALLED_S)
        try:
            record(replace(SCENARIOS[name], send_delay_limit_ms=LATE_MS), folder, SEED, CONFIG)
        except USER_ERRORS as error:
            return Played(tap.done, refused=str(error))
        except Exception:
            return Played(tap.done, crash=traceback.format_exc(limit=-4))
    return Played(tap.done)


def messages_of(name: str, folder: Path) -> list[Message]:
    """Run the scenario as it is, into the folder, and return its messages."""
    tap = Tap()
    played = play_tapped(name, tap, folder)
    if played != Played(None):
        raise RuntimeError(f"{name} has failed: {played.refused or played.crash}")
    return tap.seen

"""The count of slots, and the report about missing executors before anything is sent. Virtual time, invented
executors."""

from __future__ import annotations

import re
import sys
from itertools import chain, repeat
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from fakebroker_load.spark.probe import Executor, look
from fakebroker_load.spark.shipping import NEEDED
from fakebroker_load.spark.slots import NotReady, await_slots, complain, count_slots

MASTER = "spark://host:7077"


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def wait(counts: list[int], wanted: int | None, wait_s: float = 8, master: str = MASTER) -> tuple[int, float]:
    """Return the slots that are found, and when, if the counts are these in order and the last one stays."""
    clock, slot_counts = Clock(), chain(counts, repeat(counts[-1]))
    slots = await_slots(lambda: next(slot_counts), master, wanted, wait_s, clock, clock.sleep)
    return slots, clock.now


def test_enough_slots_end_the_wait_at_once() -> None:
    assert wait([4], 3) == (3, 0)
    assert wait([2], None, master="local[2]") == (2, 0)


def test_executors_come_one_after_another() -> None:
    slots, when = wait([0, 0, 1, 1, 1, 2], None)
    assert slots == 2
    assert when == pytest.approx(0.5 + 1.5, abs=0.11)
    slots, when = wait([0, 1, 2, 3], 3)
    assert (slots, round(when, 1)) == (3, 0.3)


@pytest.mark.parametrize(
    ("counts", "wanted", "sentence"),
    [
        ([0], None, "has given no executor within 8 s, and the load needs one slot at least"),
        ([0, 1], 2, "has given 1 slot within 8 s, and --tasks 2 need 2 slots at the same time"),
        ([2], 3, "has given 2 slots within 8 s, and --tasks 3 need 3 slots at the same time"),
    ],
)
def test_too_few(counts: list[int], wanted: int | None, sentence: str) -> None:
    with pytest.raises(NotReady, match=f"^{re.escape(MASTER)} {re.escape(sentence)}; --wait-for-slots waits longer"):
        wait(counts, wanted)


def test_too_few_of_a_local_master_are_told_at_once() -> None:
    with pytest.raises(NotReady, match=r"^local\[2\] has 2 slots, and --tasks 3 need 3 at the same time\.$"):
        wait([2], 3, wait_s=1e9, master="local[2]")


@pytest.mark.spark
def test_spark_knows_its_slots(spark: SparkSession) -> None:
    assert count_slots(spark.sparkContext) == 2


def test_what_an_executor_looks_for(tmp_path: Path) -> None:
    token = tmp_path / "token"
    assert not look((), (), str(token)).sees
    token.touch()
    here = look(NEEDED, ("fakebroker_load.log",), str(token))
    assert (here.missing, here.sees) == ([], True)
    broken = tmp_path / "breaks_when_imported.py"
    broken.write_text("raise OSError('no such library')")
    sys.path.insert(0, str(tmp_path))
    try:
        names = ("no_such_module", "json", "breaks_when_imported")
        assert look(names, ("never looked at",), None).missing == [
            "no_such_module",
            "breaks_when_imported (OSError: no such library)",
        ]
    finally:
        sys.path.remove(str(tmp_path))


def test_the_sentences_about_executors(tmp_path: Path) -> None:
    good = Executor("node7", "/usr/bin/python3", "3.12.1", [], "/code", True)
    complain(good, tmp_path)
    with pytest.raises(
        NotReady,
        match=r"on node7 \(/usr/bin/python3, 3.12.1\) lacks kio, re2: pip install '\.\[load\]' in the checkout",
    ):
        complain(good._replace(missing=["kio", "re2", "kio"]), tmp_path)
    with pytest.raises(NotReady, match="on node7 does not see the folder"):
        complain(good._replace(sees=False), tmp_path)

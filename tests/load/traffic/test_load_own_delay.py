"""The lateness of the load itself: notes of its control, and the rows."""

from __future__ import annotations

from typing import Any

import pytest
from support.watchdog import run, until

from fakebroker_load.traffic import own_delay
from fakebroker_load.traffic.own_delay import PERIOD_NS, OwnDelay, Pressure, Standstills, is_here

MS = 1_000_000


def test_what_lasts_longer_than_a_turn_is_a_standstill() -> None:
    standstills = Standstills(0)
    for at_ms in (20, 44, 100, 120, 1_120):  # 25 ms are usual
        standstills.note(at_ms * MS)
    assert standstills.within(0, 2_000 * MS) == (56 + 1_000) * MS
    assert standstills.within(50 * MS, 130 * MS) == (50 + 10) * MS
    assert standstills.within(100 * MS, 120 * MS) == 0
    assert standstills.within(121 * MS, 1_119 * MS) == 998 * MS


def test_what_waited_for_a_processor_is_counted_from_look_to_look() -> None:
    totals = iter((5, 10, None, 110))
    pressure = Pressure(lambda: next(totals))
    for at in (100, 200, 250, 300):
        pressure.note(at)
    assert pressure.within(150, 290) == 105
    assert pressure.within(200, 200) == 0
    assert pressure.within(100, 101) == 5
    assert pressure.within(99, 101) is None
    assert pressure.within(150, 301) is None


@pytest.mark.parametrize(
    ("hosts", "here"),
    [({"127.0.0.1"}, True), ({"localhost", "::1"}, True), ({"127.0.0.1", "node7"}, False), ({None}, False)],
)
def test_brokers_on_this_machine_are_recognized(hosts: set[str | None], here: bool) -> None:
    assert is_here(hosts) == here


@pytest.mark.parametrize("hosts", [{"127.0.0.1"}, {"node7"}])
def test_a_row_is_held_until_the_echo_behind_its_answer(
    hosts: set[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock is the test's: the loop notes nothing for a second, and then the response."""
    now = [5 * MS]
    monkeypatch.setattr("time.monotonic_ns", lambda: now[0])
    monkeypatch.setattr(own_delay, "read_pressure", lambda: now[0] // 2_000)

    async def main() -> list[dict[str, Any]]:
        released: list[dict[str, Any]] = []
        passed: list[int] = []

        async def sleep_until(target_ns: int) -> None:
            passed.append(target_ns)
            await until(lambda: now[0] >= target_ns, "the test's next turn")

        monkeypatch.setattr(own_delay, "sleep_until", sleep_until)
        own = OwnDelay(released.append, hosts)
        own.start()
        await until(lambda: passed, "the first turn")
        now[0] += PERIOD_NS
        await until(lambda: len(passed) == 2, "the second turn")
        sent_ns = now[0]
        now[0] += 1_000 * MS
        own.hold({"name": "late"}, sent_ns, now[0])
        assert not released
        await until(lambda: released, "the echo")
        own.hold({"name": "not answered"}, sent_ns, None)
        now[0] += PERIOD_NS
        await own.finish()
        return released

    late, unanswered = run(main())
    machine = 500_000 if is_here(hosts) else None
    assert late == {"name": "late", "load_late_us": 1_000_000, "machine_late_us": machine}
    assert unanswered == {"name": "not answered"}

"""`serve --fault`: the same values as `kafka.faults.add` and the presets, there from the start and after a reset."""

from __future__ import annotations

from signal import SIGTERM

import httpx
import pytest
from support.raw_client import RawClient
from support.requests import Produced, produce
from support.serving import Serving
from support.watchdog import LIMIT_S

from fakebroker.commands.command_line import Slip
from fakebroker.commands.faults import parse_fault
from fakebroker.core.faults.fault import Fault
from fakebroker.core.faults.presets import GcPause, NetworkPartition

DISCONNECT = Fault({"api": "Produce", "at": "after_append"}, "disconnect")
REFUSE = "{when: {api: Produce, topic: t}, do: NOT_ENOUGH_REPLICAS}"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"when": {"api": "Produce", "at": "after_append"}, "do": "disconnect"}', DISCONNECT),
        ("{when: {api: Produce, at: after_append}, do: disconnect}", DISCONNECT),
        ("when:\n  api: Produce\n  at: after_append\ndo: disconnect\n", DISCONNECT),
        ('{"preset": "gc_pause", "broker": 2, "ms": 12000}', GcPause(2, 12_000)),
        ("{preset: partition, a: [1], b: [2, 3], controller: b}", NetworkPartition((1,), (2, 3), "b")),
    ],
)
def test_json_and_yaml_say_the_same(text: str, value: object) -> None:
    assert parse_fault(text) == value


@pytest.mark.parametrize("text", ["", "null", "[]", "1", "{", "{do: }", "{preset: 1}", "{preset: }", "do: x: y", "\0"])
def test_anything_else_is_a_slip_of_one_sentence_that_shows_it(text: str) -> None:
    with pytest.raises(Slip, match=r"^--fault ") as slip:
        parse_fault(text)
    assert repr(text) in str(slip.value)


def test_it_acts_from_the_start_and_after_a_reset_again() -> None:
    with Serving("--port", "0", "--control-port", "0", "--topic", "t", "--fault", REFUSE) as serving:
        for _ in range(2):
            with RawClient(serving.endpoint(1)) as client:
                answers = [Produced(client.ask(produce("t"))).partitions[0][0] for _ in range(2)]
            assert answers == [19, 0]
            url = serving.facts["control_url"] + "/v1/reset"
            assert httpx.post(url, timeout=LIMIT_S, trust_env=False, verify=False).status_code == 200


def test_several_and_a_preset_and_those_that_never_acted_are_told() -> None:
    never = "{when: {api: Fetch}, do: drop}"
    slow = "{preset: slow_disk, broker: 1, ms: 40}"
    options = ("--port", "0", "--topic", "t", "--fault", REFUSE, "--fault", never, "--fault", slow)
    with Serving(*options) as serving:
        with RawClient(serving.endpoint(1)) as client:
            assert Produced(client.ask(produce("t"))).partitions[0][0] == 19
        status, _, err = serving.stop(SIGTERM)
    assert status == 0
    (line,) = [line for line in err.splitlines() if "never fired" in line]
    assert "fault f2 never fired: drop" in line

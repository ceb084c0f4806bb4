"""`fakebroker timeline`: what it shows, and what it says of mistakes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fakebroker.commands import timeline
from fakebroker.commands.command_line import Parser, Slip
from fakebroker.core.journal.journal import Journal
from fakebroker.core.journal.journal import to_lines as broker_lines
from fakebroker.producer.journal.events import to_lines
from fakebroker.producer.producer_config import ProducerConfig
from fakebroker.testing.producing.simulated_producers import SimulatedProducers
from fakebroker.testing.simulation import Simulation

_SHOWN = """\
   ms  where     request
    0  shop               record 2 sent to orders-dash, key 'k', 2 bytes
       shop               record 2 appended to batch 2 of orders-dash-0, which it begins
       shop               batch 2 drained for node 1, 1 record
       shop            5  Produce v6 sent to node 1, acks=all, timeout 5000 ms
    1  broker 1        5  Produce v6 handled
       broker 1        5  appended: orders-dash-0, offset 1
       broker 1        5  parked, for at most 5000 ms
5,001  broker 1        5  expired here: its time is over
       broker 1        5  answered: orders-dash-0 REQUEST_TIMED_OUT, base offset 1
5,002  shop            5  answer received
       shop            5  answered, handled: orders-dash-0 REQUEST_TIMED_OUT, base offset 1
       shop               record 2 called back: REQUEST_TIMED_OUT
"""


@pytest.fixture
def journals(tmp_path: Path) -> list[str]:
    """The files of a record that was sent while the followers were frozen."""
    broker_journal = Journal()
    simulation = Simulation(3, journal=broker_journal)
    simulation.topic("orders-dash")
    producers = SimulatedProducers(simulation)
    settings = {"client.id": "shop", "acks": "all", "retries": 0, "request.timeout.ms": 5_000}
    config = ProducerConfig("2.0", settings)
    journal = producers.new_journal(config)
    shop = producers.add(config, journal=journal)
    for key in (None, b"k"):
        shop.producer.send("orders-dash", b"v", 0, producers.now_ms, key=key)
        shop.settle()
        producers.advance(6_000)
        simulation.followers("frozen")
    own, brokers = tmp_path / "producer.jsonl", tmp_path / "brokers.jsonl"
    own.write_text("".join(to_lines(journal)))
    brokers.write_text("".join(broker_lines(broker_journal)))
    return [str(own), str(brokers)]


def run(*words: str) -> int:
    parser = Parser("fakebroker timeline", "")
    timeline.declare(parser)
    return timeline.run(parser.read(words))


@pytest.mark.parametrize("choice", [["--key", "k"], ["--record", "2"], ["--offset", "orders-dash-0@1"]])
def test_a_record_is_shown_in_columns(
    journals: list[str], choice: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*journals, *choice) == 0
    assert capsys.readouterr().out == _SHOWN
    assert run(*journals, *choice, "--wall", "--producer=shop" if choice[0] != "--offset" else "--wall") == 0
    assert capsys.readouterr().out == _SHOWN


def test_journals_of_two_machines_go_by_wall_time(
    journals: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The offset of a machine's clock goes to standard error, so that standard output is the same."""
    events = [json.loads(line) for line in Path(journals[0]).read_text().splitlines()]
    away = tmp_path / "away.jsonl"
    moved = [event | {"mono_ms": event["mono_ms"] + 5, "wall_ms": event["wall_ms"] - 250} for event in events]
    away.write_text("".join(json.dumps(event) + "\n" for event in moved))
    with pytest.raises(Slip, match=r"shop and the brokers have different clocks: .*; go by wall time \(--wall"):
        run(str(away), journals[1], "--key", "k")
    assert run(str(away), journals[1], "--key", "k", "--wall") == 0
    shown = capsys.readouterr()
    assert [line.split() for line in shown.out.splitlines()][4:6] == [
        ["shop", "5", "Produce", "v6", "sent", "to", "node", "1,", "acks=all,", "timeout", "5000", "ms"],
        ["2", "broker", "1", "5", "Produce", "v6", "handled"],
    ]
    assert shown.err == (
        "the wall clock of shop is 249 ms or more behind that of the brokers: its times are shown with +249 ms\n"
    )


def test_a_request_is_shown_and_json_has_the_events(journals: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*journals, "--correlation-id", "5", "--json") == 0
    steps = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [step["event"]["event"] for step in steps] == [
        "record_appended", "batch_drained", "request_sent", "request", "append", "parked", "expired", "answer",
        "answer_received", "response_handled",
    ]  # fmt: skip
    assert steps[-1]["elapsed_ms"] == 5_002
    assert steps[3]["where"] == "broker 1"


def test_a_picture_is_written(journals: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*journals, "--key", "k", "--svg", str(tmp_path / "one.svg")) == 0
    assert run(*journals, "--svg", str(tmp_path / "all.svg")) == 0
    assert capsys.readouterr().out == ""
    one, everything = ((tmp_path / name).read_text() for name in ("one.svg", "all.svg"))
    assert "batch 2" in one
    assert "batch 1" not in one
    assert "batch 1" in everything
    with pytest.raises(Slip, match="No such file"):
        run(*journals, "--svg", str(tmp_path / "missing" / "a.svg"))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "choose what to show by --record or --key or --offset or --correlation-id"),
        (["--key", "k", "--record", "1"], "--correlation-id, by one of them"),
        (["--svg", "x.svg", "--json"], "--svg and --json are two kinds of output: choose one"),
        (["--svg", "x.svg", "--producer", "shop"], "choose one, or leave out --producer"),
        (["--record", "0"], "--record '0' is not a whole number from 1"),
        (["--record", "9"], "shop sent no record 9"),
        (["--key", "x"], "no record with the key 'x' was sent"),
        (["--offset", "orders"], "--offset 'orders' is not TOPIC-PARTITION@OFFSET, as in orders-0@17"),
        (["--offset", "orders-0@1"], "no journal has a request that wrote offset 1 of orders-0"),
        (["--offset", "orders-0@1", "--producer", "shop"], "leave out --producer"),
        (["--record", "1", "--producer", "x"], "there is no producer 'x', there is shop"),
    ],
)
def test_a_mistake_is_said_in_a_sentence(journals: list[str], words: list[str], sentence: str) -> None:
    with pytest.raises(Slip) as slip:
        run(*journals, *words)
    assert sentence in str(slip.value)


def test_a_file_that_is_none_or_the_wrong_one_is_named(journals: list[str], tmp_path: Path) -> None:
    with pytest.raises(Slip, match="No such file"):
        run(str(tmp_path / "missing"), journals[1], "--record", "1")
    with pytest.raises(Slip, match="this is not an event of a producer's journal"):
        run(journals[1], journals[0], "--record", "1")

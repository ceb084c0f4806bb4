"""Kafka's tools in one JVM: each command has its own streams, status and shutdown hooks, as a process has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from conformance.targets.kafka_box import Unavailable
from conformance.tools.command import Chapter, Command, Stop
from conformance.tools.jvm import Jvm, fetch_tools
from conformance.tools.run import Ran, run_chapter
from fakebroker import FakeCluster

pytestmark = [pytest.mark.languages, pytest.mark.clients]

CONSUME = "kafka-console-consumer --topic t --partition 0 --offset 0"
STEPS = (
    Command("kafka-topics --create --topic t --partitions 1"),
    Command("kafka-topics --create --topic t --partitions 1"),
    Command(CONSUME, background="reader", until="two"),  # nothing is there yet: it goes on after the next command
    Command("kafka-console-producer --topic t", stdin="one\ntwo\n"),
    Command(f"{CONSUME} --max-messages 1"),
    Command(f"{CONSUME} --max-messages 9", limit_s=2),
    Stop("reader"),
    Command("kafka-topics --list", until="never"),
    Command("kafka-delete-records --offset-json-file {folder}/none"),
)


@pytest.fixture(scope="module")
def jvm() -> Iterator[Jvm]:
    try:
        fetch_tools()
    except Unavailable as reason:
        pytest.skip(str(reason))
    with Jvm() as running:
        yield running


@pytest.fixture(scope="module")
def ran(jvm: Jvm) -> list[Ran]:
    with pytest.MonkeyPatch.context() as patch, FakeCluster(brokers=1) as kafka:
        patch.setattr("conformance.tools.run._UNTIL_LIMIT_S", 1.0)
        return run_chapter(kafka.bootstrap_servers, Chapter("c", "C", STEPS), jvm)


def test_each_has_its_own_status_and_output(ran: list[Ran]) -> None:
    assert [run.status for run in ran] == [0, 1, 0, 0, -1, 143, 0, 1]
    created, again, produced, first, _, _, listed, refused = ran
    assert created.out == "Created topic t.\n"
    assert "Topic 't' already exists." in again.out
    assert (produced.out, first.out, listed.out) == ("", "one\n", "t\n")
    assert first.err.endswith("Processed a total of 1 messages\n")
    assert "{folder}/none" in refused.out + refused.err


def test_one_that_is_late_is_stopped(ran: list[Ran]) -> None:
    late = ran[4]
    assert late.out == "one\ntwo\n"
    assert "Processed a total of 2 messages" in late.err  # its shutdown hook waited for it


def test_one_in_the_background_reads_while_others_run(ran: list[Ran]) -> None:
    reader = ran[5]
    assert reader.line == CONSUME
    assert reader.out == "one\ntwo\n"
    assert "Processed a total of 2 messages" in reader.err


def test_what_is_asked_for_is_waited_for_and_not_for_ever(ran: list[Ran]) -> None:
    assert 1.0 < ran[6].took_s < 20.0


def test_a_side_is_not_given_much_more_time_than_the_other_took(jvm: Jvm, ran: list[Ran]) -> None:
    """The reader waits for more records than there are: of the 40 s that it has it gets little more than 5."""
    line = f"{CONSUME} --max-messages 9"
    before = [replace(ran[0], line=line, took_s=0.1)]
    chapter = Chapter("d", "D", (Command("kafka-topics --create --topic t --partitions 1"), Command(line)))
    with FakeCluster(brokers=1) as kafka:
        late = run_chapter(kafka.bootstrap_servers, chapter, jvm, before=before)[-1]
    assert late.status == -1
    assert 5 < late.took_s < 30


def test_the_brokers_are_not_named(ran: list[Ran]) -> None:
    assert not any("127.0.0.1:" in run.out + run.err for run in ran)

"""Tests of groups and administrators of client programs: members, stages and plays, with programs that imitate real
ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.log_reader import read_values
from support.watchdog import wait_until

from conformance.clients import members
from conformance.clients import stage as stages
from conformance.clients.administration import administer, calls
from conformance.clients.builds import CLIENTS, Client, Folder
from conformance.clients.members import Member, shares
from conformance.clients.plays import PLAYS, READ_TWICE, Play, played
from conformance.clients.process import Broken, ClientProcess
from conformance.clients.reports import ClientReport, JobReport, compare
from conformance.clients.runs import run_clients
from conformance.clients.stage import Stage
from conformance.clients.wire import Wire
from conformance.scenario import Topic
from conformance.targets.boxes import BOXES
from fakebroker import FakeCluster

# A member that has everything, reads what it is told to have read, and does what it is told.
OBEDIENT = """
import json, sys
input()
print(json.dumps({"assigned": [1, 0]}), flush=True)
print(json.dumps({"read": [[0, 5, "a"], [1, 7, "b"]]}), flush=True)
for line in sys.stdin:
    word = json.loads(line)["do"]
    print(json.dumps({"committed": True} if word == "commit" else {"closed": True}), flush=True)
"""
LACKS = "import json; input(); print(json.dumps({'unsupported': 'KIP-848'}), flush=True); input()"
DIES = "import sys; input(); sys.exit('no broker')"


@contextmanager
def member(code: str) -> Iterator[Member]:
    with Member(ClientProcess([sys.executable, "-c", code], Path.cwd(), {}, 30)) as made:
        yield made


def stage(code: str, bootstrap: str = "127.0.0.1:1", **settings: Any) -> Stage:
    return Stage(bootstrap, ([sys.executable, "-c", code], Path.cwd()), "t", settings, lambda: None)


def run_play(code: str, run: Callable[[Stage], None]) -> JobReport:
    return played(Play("play", run), stage(code))


# members


def test_a_member_tells_what_it_has_and_reads_and_does_what_it_is_told() -> None:
    def run(on: Stage) -> None:
        one = on.member()
        on.await_shares([one], [2])
        on.await_values([one], {"a", "b"})
        on.commit([one])
        on.leave(one)
        on.see("had", one.assigned)
        on.see("read", one.read)

    assert run_play(OBEDIENT, run).seen == {"had": [0, 1], "read": [(0, 5, "a"), (1, 7, "b")]}


def test_partitions_of_two_owners_are_no_shares_and_records_are_counted() -> None:
    with member(OBEDIENT) as one, member(OBEDIENT) as two:
        wait_until(lambda: bool(one.read and two.read), "a record")
        assert shares([one]) == [2]
        assert shares([one, two]) is None
        assert members.read_values([one, two]) == {"a": 2, "b": 2}


def test_what_a_client_lacks_is_said() -> None:
    assert run_play(LACKS, lambda on: on.await_shares([on.member()], [2])) == JobReport("KIP-848")


@pytest.mark.parametrize(
    ("code", "said"), [(DIES, "it ended with status 1: no broker"), ("input(); print('x')", "instead of JSON it said")]
)
def test_a_member_that_ends_by_itself_breaks_its_play(code: str, said: str) -> None:
    report = run_play(code, lambda on: on.await_shares([on.member()], [2]))
    assert said in str(report.broken)


def test_a_member_that_is_killed_does_not() -> None:
    with member(OBEDIENT) as one:
        one.kill()
        one.check()


def test_what_does_not_come_is_broken_and_never_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "_PATIENCE_S", 0.1)
    report = run_play(OBEDIENT, lambda on: on.await_shares([on.member()], [6]))
    assert str(report.broken).startswith("shares of [6]: not within 0.1 s")
    both = {"client": ClientReport("client", "1", jobs={"play": report})}
    assert [(difference.where, difference.reason) for difference in compare(both, both, ())] == [("broken", None)]


# reports


@pytest.mark.parametrize(("theirs", "ours"), [({"a": 1}, {"a": 2}), ({"a": 1}, {}), ({}, {"a": 1})])
def test_what_is_seen_is_compared(theirs: dict[str, object], ours: dict[str, object]) -> None:
    kafka, mine = ({"c": ClientReport("c", "1", jobs={"p": JobReport(None, seen=seen)})} for seen in (theirs, ours))
    assert [(difference.job, difference.where) for difference in compare(kafka, mine, ())] == [("p", "a")]
    assert compare(kafka, kafka, ()) == []


# administrators


def test_every_call_has_a_name_of_its_own_and_goes_into_a_plan() -> None:
    calls_ = list(calls("t", "g"))
    assert len({what for what, _ in calls_}) == len(calls_)
    assert json.loads(json.dumps([call for _, call in calls_])) == [call for _, call in calls_]


ANSWERS = """
import json, sys
input()
for line in sys.stdin:
    call = json.loads(line)["call"]
    said = {"unsupported": True} if "quota" in call else {"error": "E"} if "acl" in call else {"result": call}
    print(json.dumps(said), flush=True)
"""


def test_an_administrator_tells_of_each_call_and_of_what_it_lacks() -> None:
    with FakeCluster(brokers=1) as kafka:
        kafka.create_topic("t", partitions=2)
        report = played(Play("p", administer), stage(ANSWERS, kafka.bootstrap_servers))
    assert (report.broken, report.unsupported) == (None, None)
    assert report.seen["lacks"] == ["alter_quota", "describe_quota"]
    assert (report.seen["access"], report.seen["delete"]) == ("E", "delete_topic")
    assert "quotas" not in report.seen


# plays


def test_the_plays_are_of_all_protocols_and_have_names_of_their_own() -> None:
    assert len({play.name for play in PLAYS}) == len(PLAYS)
    assert {play.settings.get("protocol") for play in PLAYS} == {"classic", "consumer", None}
    known = {play.name for play in PLAYS}
    assert {name for client in CLIENTS for name in client.rereads} <= known


def test_the_harness_writes_what_members_read_and_finds_a_coordinator() -> None:
    with FakeCluster(brokers=2) as kafka:
        kafka.create_topic("t", partitions=2)
        with Wire(kafka.bootstrap_servers) as wire:
            wire.produce("t", {0: ["a"], 1: ["b", "c"]})
            wire.await_coordinator("g")
            wire.configure_group("g", {"consumer.session.timeout.ms": "50000"})
            with pytest.raises(RuntimeError, match="settings of g failed with error 40"):
                wire.configure_group("g", {"consumer.session.timeout.ms": "never"})
        assert [read_values(kafka, "t", partition) for partition in range(2)] == [[b"a"], [b"b", b"c"]]


class Target:
    def __init__(self, kafka: FakeCluster) -> None:
        self._kafka = kafka
        self.bootstrap_servers = kafka.bootstrap_servers
        self.caught_up: list[int] = []

    def create_topics(self, topics: Any, /) -> None:
        for topic in topics:
            assert isinstance(topic, Topic)
            self._kafka.create_topic(topic.name, topic.partitions, topic.replicas, topic.configs)

    def freeze(self, broker: int, /) -> None: ...
    def thaw(self, broker: int, /) -> None: ...
    def catch_up(self, broker: int, /) -> None:
        self.caught_up.append(broker)


def test_plays_are_run_with_clients_that_have_them_and_what_is_by_chance_is_left_out(tmp_path: Path) -> None:
    def see(on: Stage) -> None:
        on.administrator()({"call": "x"})
        on.see(READ_TWICE, ["a"])
        on.see("topic", on.topic)

    plays = [Play("one", see), Play("two", see)]
    command = (sys.executable, "-c", ANSWERS)
    folder = Folder("python", (), ())
    clients = [Client("plays", folder, command, plays=True, rereads=("two",)), Client("does not", folder, command)]
    with FakeCluster(brokers=3) as kafka:
        target = Target(kafka)
        reports = run_clients(target, tmp_path, clients=clients, jobs=(), plays=plays)
    assert reports["does not"].jobs == {}
    assert {name: report.seen for name, report in reports["plays"].jobs.items()} == {
        "one": {READ_TWICE: ["a"], "topic": "clients-plays-one"},
        "two": {"topic": "clients-plays-two"},
    }
    assert set(target.caught_up) == {1, 2, 3}


def test_a_process_that_is_silent_breaks_what_asks_it() -> None:
    with ClientProcess([sys.executable, "-c", DIES], Path.cwd(), {}, 30) as process, pytest.raises(Broken):
        process.hear()


# a real program, with the clients that the tests have anyway


@pytest.mark.clients
def test_a_stock_client_plays_and_a_broker_that_answers_otherwise_is_found_out(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "conformance.clients.python.confluent_kafka_client")
    clients = [Client("librdkafka", Folder("python", (), ()), command, plays=True)]
    names = ("earliest", "static-twice-consumer", "administrator")
    plays = [play for play in PLAYS if play.name in names]
    reports = []
    for partitions in (1, 7):
        config = BOXES["clients"].config | {"num.partitions": str(partitions)}
        with FakeCluster(brokers=3, config=config) as kafka:
            reports.append(run_clients(Target(kafka), tmp_path, clients=clients, jobs=(), plays=plays))
    honest, other = reports
    assert [report.broken for report in honest["librdkafka"].jobs.values()] == [None] * len(names)
    assert len(honest["librdkafka"].jobs["administrator"].seen) > 30
    assert [(difference.job, difference.where) for difference in compare(honest, other, ())] == [
        ("administrator", "settings of a broker")
    ]

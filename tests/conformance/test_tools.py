"""Kafka's tools against both sides: what counts as the same, what a reason excuses, and what the page says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.clients.wire import Wire
from conformance.tools import suite
from conformance.tools.command import KCAT, MAINS, Chapter, Command, Open, Stop
from conformance.tools.compare import Row, compare, unneeded
from conformance.tools.jvm import Result
from conformance.tools.normal import normal
from conformance.tools.open_transaction import open_transaction
from conformance.tools.page import PAGE, page, typed
from conformance.tools.reasons import REASONS, Reason
from conformance.tools.run import Ran, run_chapter
from conformance.tools.table import CHAPTERS
from fakebroker import FakeCluster

KAFKA = Ran("group", "kafka-topics --list", 0, "one\ntwo\n", "", 1.0)
CHAPTER = Chapter("group", "A group", (Command("kafka-topics --list"),))


def one(kafka: Ran, ours: Ran, *reasons: Reason, chapter: Chapter = CHAPTER) -> Row:
    [row] = compare([chapter], [kafka], [ours], reasons)
    return row


# the table


def test_each_tool_has_a_class_and_each_class_a_command() -> None:
    used = {command.tool for chapter in CHAPTERS for command in chapter.commands()}
    assert used - {KCAT} == MAINS.keys()


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_what_runs_in_the_background_is_stopped_in_its_chapter(chapter: Chapter) -> None:
    running: set[str] = set()
    for step in chapter.steps:
        if isinstance(step, Stop):
            running.remove(step.background)
        elif isinstance(step, Command) and step.background:
            assert step.background not in running
            running.add(step.background)
    assert running == set()


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.name)
def test_each_file_that_is_named_is_there(chapter: Chapter) -> None:
    lines = [command.line for command in chapter.commands()]
    for name in chapter.files:
        assert any("{folder}/" + name in line for line in lines)
    for line in lines:
        assert line.count("{folder}/") == sum("{folder}/" + name in line for name in chapter.files)


def test_commands_are_in_the_order_in_which_they_end() -> None:
    steps = (Command("kafka-topics --list", background="x"), Command("kafka-cluster cluster-id"), Stop("x"))
    assert [command.tool for command in Chapter("c", "C", steps).commands()] == ["kafka-cluster", "kafka-topics"]


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("kafka-topics --list", ["--bootstrap-server", "b:1", "--list"]),
        ("kafka-cluster cluster-id --x", ["cluster-id", "--bootstrap-server", "b:1", "--x"]),
        ("kafka-e2e-latency {bootstrap} t", ["b:1", "t"]),
        ("kcat -C -t 'a b'", ["-b", "b:1", "-C", "-t", "a b"]),
        ("kafka-delete-records --file {folder}/x", ["--bootstrap-server", "b:1", "--file", "/f/x"]),
    ],
)
def test_the_brokers_are_named_where_the_tool_wants_them(line: str, arguments: list[str]) -> None:
    assert Command(line).arguments("b:1", "/f") == arguments


# what is compared


@pytest.mark.parametrize(
    ("kafka", "ours"),
    [
        ("TopicId: 5Rz_WQ2eT5mQ9L6n3bV0aA x", "TopicId: AAAAAAAAQAAAAAAAAAAAAQ x"),
        ("Cluster ID: ZmFrZWJyb2tlci1jb25mb3Jt", "Cluster ID: AAAAAAAAQAAAAAAAAAAAAQ"),
        (
            "console-consumer-2dd60ec4-7ae0-4b3c-9e25-b3b8a0e6c2dd",
            "console-consumer-00000000-0000-4000-8000-000000000001",
        ),
        ("at 1795329348793", "at 1695329348793"),
        ("[2026-11-22 06:17:17,459] WARN no", "[2026-11-22 06:17:18,000] WARN no"),
        ('"logDir":"/tmp/kafka-1/data"', '"logDir":"/tmp/fakebroker"'),
        ("1@127.0.0.1:43803", "1@127.0.0.1:9092"),
        ("A      B  C ", "A B C"),
        ("Replicas: 3,1,2 Isr: 1,3", "Replicas: 3,1,2 Isr: 3,1"),
        (
            "java.lang.Error: x\n\tat a.B.c(B.java:7)\n\tat a.C.d(C.java:8)\ny",
            "java.lang.Error: x\n\tat a.B.e(B.java:1)\ny",
        ),
    ],
)
def test_ids_times_addresses_folders_and_widths_do_not_count(kafka: str, ours: str) -> None:
    assert normal(kafka, {}, unordered=False) == normal(ours, {}, unordered=False)


@pytest.mark.parametrize(
    ("kafka", "ours"),
    [
        ("offset 12", "offset 13"),
        ("Isr: 1,3", "Isr: 1,2"),
        ("Replicas: 1,3", "Replicas: 3,1"),
        ("min.insync.replicas=1", "min.insync.replicas=2"),
        ("a\nb", "b\na"),
        ("a", ""),
    ],
)
def test_everything_else_does(kafka: str, ours: str) -> None:
    assert normal(kafka, {}, unordered=False) != normal(ours, {}, unordered=False)


def test_lines_that_may_come_in_any_order() -> None:
    assert normal("b\na\n", {}, unordered=True) == normal("a\nb\n", {}, unordered=True)


def test_a_mask_stands_for_what_differs_each_time() -> None:
    assert normal("12.5 ms\n", {r"[\d.]+ ms": "N ms"}, unordered=False) == ["N ms"]


def test_the_same_output_and_status_is_the_same() -> None:
    assert one(KAFKA, replace(KAFKA, took_s=9.0)).verdict == "same"


@pytest.mark.parametrize(
    ("ours", "differing"),
    [
        (replace(KAFKA, status=1), ("-status 0", "+status 1")),
        (replace(KAFKA, out="one\n"), ("-two",)),
        (replace(KAFKA, err="no\n"), ("+no",)),
    ],
)
def test_another_status_or_line_is_different(ours: Ran, differing: tuple[str, ...]) -> None:
    row = one(KAFKA, ours)
    assert (row.verdict, row.differing) == ("different", differing)


def test_a_reason_speaks_of_every_line_that_differs() -> None:
    reason = Reason("kafka-topics", "^-two", "there is no two")
    assert one(KAFKA, replace(KAFKA, out="one\n"), reason).reason == reason
    assert one(KAFKA, replace(KAFKA, out=""), reason).reason is None
    other = replace(reason, command="kafka-groups")
    assert one(KAFKA, replace(KAFKA, out="one\n"), other).reason is None


def test_a_reason_that_explains_nothing_is_found() -> None:
    used, unused = Reason("topics", "^-two", "a"), Reason("topics", "^-three", "b")
    row = one(KAFKA, replace(KAFKA, out="one\n"), used, unused)
    assert unneeded([row], [used, unused]) == [unused]


def test_two_runs_of_other_commands_are_not_compared() -> None:
    with pytest.raises(AssertionError, match="other commands"):
        one(KAFKA, replace(KAFKA, line="kafka-groups --list"))


# the page


def test_the_page_has_commands_as_a_user_types_them() -> None:
    assert typed("kafka-x --file {folder}/a.json --log-dirs {folder} {bootstrap} --hmac {hmac}") == (
        "kafka-x --file a.json --log-dirs . localhost:9092 --hmac HMAC"
    )
    for chapter in CHAPTERS:
        for command in chapter.commands():
            assert "{" not in typed(command.line), command.line
    assert "{" not in PAGE.read_text()


def test_the_page_counts_and_shows() -> None:
    rows = [
        one(KAFKA, KAFKA),
        one(KAFKA, replace(KAFKA, status=1)),
        one(KAFKA, replace(KAFKA, out="one|`\n"), Reason("topics", "^[-+]", "a | b")),
    ]
    text = page(rows, [CHAPTER], "4.4.0", "4.3.1", ["`kcat`: kcat is not installed"])
    for line in (
        "| commands | 3 |",
        "| the same | 1 |",
        "| different without one | 1 |",
        "| end well on Kafka (status 0) | 3 |",
        "| of those end well here with the same output | 1 |",
        "| not run | `kcat`: kcat is not installed |",
        "## A group",
        "| `kafka-topics --list` | ok, 2 lines | ok, 2 lines | yes |  |",
        "| `kafka-topics --list` | ok, 2 lines | ok, 1 line | no | a \\| b |",
        "| `kafka-topics --list` | ok, 2 lines | status 1, 2 lines | **no** |"
        " **not explained:** `-status 0`<br>`+status 1` |",
    ):
        assert line in text.splitlines()


def test_no_two_reasons_say_the_same() -> None:
    assert len({(reason.command, reason.lines) for reason in REASONS}) == len(REASONS)


# what was kept


def test_chapters_of_kcat_are_left_out_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    chapters, skipped = suite.chosen("*")
    assert [chapter.name for chapter in CHAPTERS if chapter not in chapters] == ["kcat"]
    assert skipped == ["`kcat`: kcat is not installed"]


class Sides:
    """Counts how often Kafka is started, and answers for it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.ran: list[str] = []
        self.given_to: list[str] = []
        monkeypatch.setattr(suite, "cache_folder", lambda: folder)
        monkeypatch.setattr(suite, "KafkaSide", lambda: self)
        monkeypatch.setattr(suite, "run_chapter", self.run_chapter)

    bootstrap_servers = "b:1"

    def given(self, chapter: Chapter) -> Chapter:
        self.given_to.append(chapter.name)
        return chapter

    def __enter__(self) -> Sides:
        self.ran.append("started")
        return self

    def __exit__(self, *_: object) -> None:
        self.ran.append("stopped")

    def run_chapter(self, bootstrap: str, chapter: Chapter, jvm: object, done: object) -> list[Ran]:
        self.ran.append(chapter.name)
        return [replace(KAFKA, chapter=chapter.name)]


def test_a_chapter_runs_on_kafka_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sides = Sides(monkeypatch, tmp_path)
    other = replace(CHAPTER, name="other")

    def ask(*chapters: Chapter, fresh: bool = False) -> list[Ran]:
        sides.ran.clear()
        return suite.run_kafka(chapters, None, lambda side, ran: None, fresh=fresh)  # type: ignore[arg-type]

    first = ask(CHAPTER)
    assert sides.ran == ["started", "group", "stopped"]
    both = ask(CHAPTER, other)
    assert sides.ran == ["started", "other", "stopped"]
    assert [ran.chapter for ran in both] == ["group", "other"]
    assert ask(CHAPTER) == first
    assert sides.ran == []
    ask(CHAPTER, fresh=True)
    assert sides.ran == ["started", "group", "stopped"]


def test_a_mask_does_not_ask_kafka_again_but_another_command_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sides = Sides(monkeypatch, tmp_path)

    def asks(chapter: Chapter) -> bool:
        sides.ran.clear()
        suite.run_kafka([chapter], None, lambda side, ran: None)  # type: ignore[arg-type]
        return bool(sides.ran)

    assert asks(CHAPTER)
    assert not asks(replace(CHAPTER, steps=(Command("kafka-topics --list", mask={"a": "b"}, unordered=True),)))
    assert asks(replace(CHAPTER, steps=(Command("kafka-topics --list --x"),)))
    assert asks(replace(CHAPTER, files={"a": "b"}))


def test_chapters_over_sasl_have_a_kafka_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sides = Sides(monkeypatch, tmp_path)
    monkeypatch.setattr(suite, "SecuredKafkaSide", lambda: sides)
    chapters = [CHAPTER, replace(CHAPTER, name="secured", is_secured=True, files={"a": "{truststore}"})]
    suite.run_kafka(chapters, None, lambda side, ran: None)  # type: ignore[arg-type]
    assert sides.ran == ["started", "group", "started", "secured", "stopped", "stopped"]
    assert sides.given_to == ["secured"]


class EchoingJvm:
    """Prints the arguments of a command, as Kafka's tools do, and what its file holds."""

    def begin(self, name: str, main: str, arguments: Sequence[str], stdin: str, *, more: bool = False) -> None:
        self._out = f"{' '.join(arguments)} token=abc {Path(arguments[-1]).read_text()}"

    def wait(self, name: str, limit_s: float) -> Result:
        return Result(0, self._out, "")


def test_what_is_kept_stands_in_later_commands_and_files() -> None:
    list_with = "kafka-topics --list {id} --command-config {folder}/a"
    steps = (Command(list_with, keep={"id": r"token=(\w+)"}), Command(list_with))
    first, second = run_chapter("b:1", Chapter("c", "C", steps, {"a": "<{id}>"}), EchoingJvm())  # type: ignore[arg-type]
    assert first.out.endswith("{folder}/a token={id} <{id}>")
    assert first.out == second.out


def test_what_is_kept_is_given_to_the_tool() -> None:
    jvm = EchoingJvm()
    line = "kafka-topics --list {id} --command-config {folder}/a"
    steps = (Command(line, keep={"id": r"token=(\w+)"}), Command(line))
    run_chapter("b:1", Chapter("c", "C", steps, {"a": "<{id}>"}), jvm)  # type: ignore[arg-type]
    assert "--list abc" in jvm.wait("", 1).out
    assert jvm.wait("", 1).out.endswith("<abc>")


# what no tool does


def test_a_transaction_is_opened_that_its_coordinator_knows_or_does_not() -> None:
    with FakeCluster(brokers=2, config={"transaction.partition.verification.enable": False}) as kafka:
        for topic in ("known", "lost"):
            kafka.create_topic(topic, configs={"retention.ms": -1})
        open_transaction(kafka.bootstrap_servers, Open("known", "a"))
        open_transaction(kafka.bootstrap_servers, Open("lost", "b", is_told=False))
        kafka.alter_broker_configs({"transaction.partition.verification.enable": True})
        with pytest.raises(RuntimeError, match="writing to lost failed with error 48"):
            open_transaction(kafka.bootstrap_servers, Open("lost", "c", is_told=False))
        with Wire(kafka.bootstrap_servers) as wire:
            listed = [
                (transaction.transactional_id, transaction.transaction_state)
                for address in kafka.bootstrap_servers.split(",")
                for transaction in wire.ask(
                    address, 66, 0, {"state_filters": [], "producer_id_filters": []}
                ).transaction_states
            ]
    assert sorted(listed) == [("a", "Ongoing"), ("b", "Empty"), ("c", "Empty")]

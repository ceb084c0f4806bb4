"""Kafka's responses in words: whole, compared, and refused in one sentence."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support import doses, kept
from typer.testing import CliRunner

from conformance.__main__ import app
from conformance.scenario import Send
from conformance.transcripts.golden import FOLDER, load
from conformance.transcripts.recording import Heard
from conformance.transcripts.show import case_lines, golden_lines

CASES = {case.name: case for case in kept.cases()}
KEPT = {golden.case: golden for golden in kept.answers()}
TIMES_OUT = CASES["frozen/times-out"]


def shown(*arguments: str) -> list[str]:
    result = CliRunner().invoke(app, ["show", *arguments])
    assert result.exit_code == 0
    return [line.strip() for line in result.stdout.splitlines()]


def test_what_is_sent_and_what_is_answered_stands_in_order() -> None:
    lines = shown("frozen/times-out")
    assert lines[:2] == ["frozen/times-out", TIMES_OUT.why]
    start = lines.index("Produce v9 #1 from 'conformance', 128 bytes")
    assert lines[start - 2 : start] == ["Freeze: broker 3", "send on a, to broker 1"]
    answered = lines.index("Produce v9 #1", start)
    assert lines[answered - 1] == "settle on a: 1 responses, then open"
    [line] = [line for line in lines if "REQUEST_TIMED_OUT(7)" in line]
    assert line.startswith("- {index: 0, error_code: REQUEST_TIMED_OUT(7), base_offset: 1,")
    assert lines.index(line) > answered
    assert lines.index("Thaw: broker 3") > answered
    assert "log frozen-basic-0" in lines
    assert lines.count("is_crc_valid: True") == 4  # two batches sent, two stored


def test_a_pattern_names_several_cases() -> None:
    lines = shown("frozen/*")
    assert {name for name in CASES if name.startswith("frozen/")} == {name for name in CASES if name in lines}


def test_ids_of_topics_are_told_by_name() -> None:
    name = next(name for name, case in CASES.items() if name == "fetch/v13")
    [topic, *_] = CASES[name].topics
    lines = shown(name)
    assert any(f"topic_id: (id of {topic.name})" in line for line in lines)
    assert str(topic.placeholder) not in "".join(lines)


def test_a_name_that_no_case_has_is_one_sentence_and_status_2() -> None:
    result = CliRunner().invoke(app, ["show", "no/such"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "conformance: no case is called 'no/such': `python -m conformance list` shows the names\n"


GROUPS = sorted({case.group for case in CASES.values()})


@pytest.mark.parametrize("group", doses.nightly_but(GROUPS[::8], GROUPS))
def test_every_case_can_be_shown_with_every_answer(group: str) -> None:
    for case in CASES.values():
        if case.group == group:
            lines = list(case_lines(case, KEPT[case.name]))
            assert not any("there is no response of Kafka" in line or "CHANGED" in line for line in lines)
            answers = sum(len(entry.answers) for entry in KEPT[case.name].kafka if isinstance(entry, Heard))
            count = sum(
                int(said[1]) for line in lines if (said := re.match(r" +\w+ on [\w-]+: (\d+) responses, then ", line))
            )
            assert count == answers


def test_a_case_that_changed_and_one_that_is_new_are_told_as_such() -> None:
    changed = replace(TIMES_OUT, steps=(*TIMES_OUT.steps[:-1], Send((b"\0\0\0\1x",)), TIMES_OUT.steps[-1]))
    lines = list(case_lines(changed, KEPT[changed.name]))
    assert any("CHANGED since Kafka's responses were recorded" in line for line in lines)
    assert any("5 bytes that cannot be read" in line for line in lines)
    assert any("there is no response of Kafka" in line for line in case_lines(TIMES_OUT, None))
    shorter = replace(TIMES_OUT, steps=TIMES_OUT.steps[:1])
    assert any("REQUEST_TIMED_OUT" in line for line in case_lines(shorter, KEPT[shorter.name]))


# For git.


def test_a_file_is_told_without_the_code_of_its_cases() -> None:
    path = FOLDER / "frozen.txt"
    done = subprocess.run(
        [sys.executable, "-m", "conformance.transcripts", str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == list(golden_lines(load(path)))
    assert f"frozen/times-out ({KEPT['frozen/times-out'].digest}), Kafka 4.4.0" in done.stdout


def test_another_error_code_is_another_line_and_nothing_else(tmp_path: Path) -> None:
    path = FOLDER / "frozen.txt"
    other = tmp_path / "frozen.txt"
    # The answer to a timeout: error 7 at offset 1 becomes error 6.
    other.write_text(path.read_text().replace("00070000000000000001ffff", "00060000000000000001ffff", 1))
    before, after = list(golden_lines(load(path))), list(golden_lines(load(other)))
    differing = [(left, right) for left, right in zip(before, after, strict=True) if left != right]
    [(left, right)] = differing
    assert left.replace("REQUEST_TIMED_OUT(7)", "NOT_LEADER_OR_FOLLOWER(6)") == right

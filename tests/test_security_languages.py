"""docs/security-languages.md: its programs are those of conformance/clients, its errors are those of the tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "security-languages.md").read_text()
CLIENTS = ROOT / "conformance" / "clients"
PROGRAMS = [
    "java/src/main/java/SecuredSettings.java",
    "kafkajs/secured-settings.mjs",
    "go/secured/settings/settings.go",
    "go/secured/secured-franz/settings.go",
    "go/secured/secured-sarama/settings.go",
    "go/secured/secured-kafka-go/settings.go",
]
LIBRARIES = {"Java": "java", "franz-go": "franz_go", "Sarama": "sarama", "kafka-go": "kafka_go", "KafkaJS": "kafkajs"}
HEAD, _, *ROWS = [line for line in PAGE.splitlines() if line.startswith("|")]


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_of_the_page_is_the_one_that_is_tested(program: str) -> None:
    blocks = re.findall(r"^```(?:java|js|go)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert (CLIENTS / program).read_text() in blocks


@pytest.mark.parametrize("column", range(1, 1 + len(LIBRARIES)), ids=list(LIBRARIES))
def test_the_errors_of_the_page_are_those_of_the_tests(column: int) -> None:
    library = LIBRARIES[cells(HEAD)[column]]
    tests = (ROOT / "tests" / "clients" / "languages" / f"test_secured_{library}.py").read_text()
    assert len(ROWS) == 9
    for row in map(cells, ROWS):
        case = "wrong password, PLAIN" if row[0] == "wrong password" else row[0]
        match = re.search(rf'"{case}": Error\((.*?)\),?$', tests, re.DOTALL | re.MULTILINE)
        assert (match is not None) == bool(row[column]), row
        assert match is None or row[column].strip("`") in match[1], row

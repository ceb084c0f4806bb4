"""Results of the tests, kept in the cache: a run that ends early resumes where it was."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from conformance.suites.suite import Outcome, Suite

_NO_NAME = re.compile(r"[^\w.-]+")


@dataclass(frozen=True)
class Result:
    """The result of one test on one side: a word of suite.py, seconds, and the missing APIs that it asked for."""

    what: str
    took_s: float
    refused: tuple[str, ...] = ()


class Results:
    """The results of one suite on one side, in a file; beside it the output of each test."""

    def __init__(self, folder: Path, suite: Suite, side: str) -> None:
        self._folder = folder / "results" / f"{suite.name}-{suite.version}"
        self._side = side
        self._path = self._folder / f"{side}.json"
        self.by_test: dict[str, Result] = {}
        if self._path.exists():
            for test, values in json.loads(self._path.read_text()).items():
                self.by_test[test] = Result(values["what"], values["took_s"], tuple(values["refused"]))

    def forget(self) -> None:
        self.by_test.clear()
        self._path.unlink(missing_ok=True)

    def keep(self, test: str, outcome: Outcome, refused: list[str]) -> Result:
        result = self.by_test[test] = Result(outcome.what, round(outcome.took_s, 1), tuple(refused))
        self._folder.mkdir(parents=True, exist_ok=True)
        log = self.log(test)
        log.parent.mkdir(exist_ok=True)
        log.write_text(outcome.output)
        self._path.write_text(
            json.dumps({name: asdict(test_result) for name, test_result in self.by_test.items()}, indent=1)
        )
        return result

    def log(self, test: str) -> Path:
        """Return the path of the test's output."""
        return self._folder / self._side / f"{_NO_NAME.sub('-', test)[:150]}.txt"


def only_there(ours: Mapping[str, Result], kafka: Mapping[str, Result], word: str) -> list[str]:
    """The tests that have this outcome on Kafka, and another one here."""
    return [test for test, result in kafka.items() if result.what == word and test in ours and ours[test].what != word]

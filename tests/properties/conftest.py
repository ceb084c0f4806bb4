"""How many steps were simulated in this session: told at its end."""

from __future__ import annotations

from collections import Counter

import pytest

STEPS: Counter[str] = Counter()  # by what drew them


@pytest.fixture(scope="session")
def simulated() -> Counter[str]:
    return STEPS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if STEPS:
        parts = ", ".join(f"{count:,} {what}" for what, count in sorted(STEPS.items()))
        terminalreporter.write_line(f"simulated steps: {STEPS.total():,} ({parts})")

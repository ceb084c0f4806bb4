"""One cluster for the tests of a file that do not depend on each other's changes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("fastapi", reason="the extra `control` is not installed")

from support.controlled import Controlled


@pytest.fixture
def controlled() -> Iterator[Controlled]:
    with Controlled(clock="manual") as running:
        yield running

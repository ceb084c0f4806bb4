"""One cluster and one program for all tests of a library (support/secured_cases.py)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.secured import USERS, Secured

pytest.importorskip("cryptography", reason="the extra security is not installed")
pytest.importorskip("joserfc", reason="the extra security is not installed")


@pytest.fixture(scope="class")
def secured(request: pytest.FixtureRequest) -> Iterator[Secured]:
    with Secured.of(request.cls.library) as secured:
        yield secured


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "refusal" in metafunc.fixturenames:
        metafunc.parametrize("refusal", metafunc.cls.refusals)
    if "mechanism" in metafunc.fixturenames:
        metafunc.parametrize("mechanism", USERS)

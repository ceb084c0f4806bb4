"""A topic with records and a group with offsets, for administrators."""

from __future__ import annotations

import pytest
from support.administered import Administered, administered
from support.groups import Brokers


@pytest.fixture
def given(brokers: Brokers, group: str) -> Administered:
    return administered(brokers, group)

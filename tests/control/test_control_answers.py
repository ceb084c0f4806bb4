"""Responses in slices, while other requests change their content."""

from __future__ import annotations

from contextlib import suppress

import pytest

from fakebroker.cluster.cluster import Cluster
from fakebroker.control.answers import topic_text
from fakebroker.core.clock import Now
from fakebroker.core.controller.topics import NewTopic
from fakebroker.protocol.errors import KafkaError

NOW = Now(0, 1_700_000_000_000)


@pytest.mark.parametrize("again", [False, True], ids=["deleted", "made-again"])
def test_a_topic_that_is_deleted_between_two_slices_is_unknown(again: bool) -> None:
    cluster = Cluster(NOW, 3)
    cluster.admin.create_topic(NewTopic("t", 100, 3), NOW)
    slices = topic_text(cluster, "t")
    next(slices)
    cluster.admin.delete_topic("t", NOW)
    if again:
        cluster.admin.create_topic(NewTopic("t", 100, 3), NOW)

    with pytest.raises(KafkaError, match="was deleted meanwhile") as caught, suppress(StopIteration):
        next(slices)
    assert caught.value.code == 3

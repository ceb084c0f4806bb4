"""Versions: the newest that both sides have."""

from __future__ import annotations

import pytest

from fakebroker.producer.generation import Generation
from fakebroker.producer.network.node_api_versions import (
    ADD_OFFSETS_TO_TXN,
    ADD_PARTITIONS_TO_TXN,
    API_VERSIONS,
    END_TXN,
    FIND_COORDINATOR,
    INIT_PRODUCER_ID,
    METADATA,
    PRODUCE,
    TXN_OFFSET_COMMIT,
    ApiVersion,
    NodeApiVersions,
    UnsupportedVersionError,
    client_range,
)
from fakebroker.protocol.messages import request_type


@pytest.mark.parametrize(("served", "version"), [((0, 20), 9), ((0, 5), 5), ((9, 9), 9), ((3, 3), 3)])
def test_the_newest_that_both_have(served: tuple[int, int], version: int) -> None:
    node = NodeApiVersions([ApiVersion(PRODUCE, *served)])
    assert node.latest_usable_version(ApiVersion(PRODUCE, 3, 9)) == version


@pytest.mark.parametrize("served", [(0, 2), (10, 13)])
def test_without_a_common_one_it_is_not_sent(served: tuple[int, int]) -> None:
    node = NodeApiVersions([ApiVersion(PRODUCE, *served)])
    with pytest.raises(UnsupportedVersionError, match=f"{served[0]} to {served[1]} of the API 0, and 3 to 9"):
        node.latest_usable_version(ApiVersion(PRODUCE, 3, 9))
    with pytest.raises(UnsupportedVersionError, match="does not serve the API 3"):
        node.latest_usable_version(ApiVersion(METADATA, 0, 9))


@pytest.mark.parametrize(
    ("generation", "ranges"),
    [("2.0", [(3, 6), (0, 6), (0, 2)]), ("3.0", [(3, 9), (0, 11), (0, 3)]), ("4.3", [(3, 13), (0, 13), (0, 4)])],
)
def test_a_release_has_its_versions(generation: str, ranges: list[tuple[int, int]]) -> None:
    release = Generation(generation)
    assert [client_range(key, release)[1:] for key in (PRODUCE, METADATA, API_VERSIONS)] == ranges


@pytest.mark.parametrize(
    ("generation", "newest"), [("2.0", 2), ("2.3", 2), ("2.4", 3), ("2.8", 3), ("3.0", 4), ("3.8", 5), ("3.9", 6)]
)
def test_find_coordinator_grew_with_these_releases(generation: str, newest: int) -> None:
    """FindCoordinatorRequest.json: flexible with 2.4, batched with KIP-699, KIP-890, share groups with KIP-932."""
    assert client_range(FIND_COORDINATOR, Generation(generation))[1:] == (0, newest)


@pytest.mark.parametrize("key", [PRODUCE, METADATA, API_VERSIONS])
def test_each_version_of_the_newest_release_can_be_written(key: int) -> None:
    assert request_type(key, client_range(key, Generation("4.4")).max_version) is not None


@pytest.mark.parametrize("generation", ["2.0", "2.4", "2.5", "2.7", "2.8", "3.8", "4.0", "4.1", "4.4"])
@pytest.mark.parametrize(
    "key", [INIT_PRODUCER_ID, ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, END_TXN, TXN_OFFSET_COMMIT]
)
def test_each_release_can_write_version_0_of_the_transaction_apis(key: int, generation: str) -> None:
    """Kafka 4.0 removed the first versions of some APIs, but of none of these (KIP-896)."""
    assert client_range(key, Generation(generation)).min_version == 0

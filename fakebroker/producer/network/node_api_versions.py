"""The version of a request: the newest that both the client and the broker support.

Theory   The broker names its versions when a connection begins. An API that it does not serve, or not in a usable
         version, is not sent.
Source   clients/.../clients/NodeApiVersions.java; the versions of each release are those of its message definitions.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final, NamedTuple

from fakebroker.producer.errors import ProducerError
from fakebroker.producer.generation import Generation

PRODUCE: Final = 0
METADATA: Final = 3
FIND_COORDINATOR: Final = 10
API_VERSIONS: Final = 18
INIT_PRODUCER_ID: Final = 22
ADD_PARTITIONS_TO_TXN: Final = 24
ADD_OFFSETS_TO_TXN: Final = 25
END_TXN: Final = 26
TXN_OFFSET_COMMIT: Final = 28
# The versions that the client of a release can send: (first release, oldest, newest), by API key.
_RANGES: Final = {
    PRODUCE: (
        ("2.0", 3, 6), ("2.1", 3, 7), ("2.4", 3, 8), ("2.8", 3, 9), ("3.7", 3, 10), ("3.8", 3, 11), ("4.0", 3, 12),
        ("4.1", 3, 13),
    ),
    METADATA: (
        ("2.0", 0, 6), ("2.1", 0, 7), ("2.3", 0, 8), ("2.4", 0, 9), ("2.8", 0, 11), ("3.1", 0, 12), ("4.0", 0, 13),
    ),
    FIND_COORDINATOR: (("2.0", 0, 2), ("2.4", 0, 3), ("3.0", 0, 4), ("3.8", 0, 5), ("3.9", 0, 6)),
    API_VERSIONS: (("2.0", 0, 2), ("2.4", 0, 3), ("3.9", 0, 4), ("4.4", 0, 5)),
    INIT_PRODUCER_ID: (("2.0", 0, 1), ("2.4", 0, 2), ("2.5", 0, 3), ("2.7", 0, 4), ("3.8", 0, 5), ("4.1", 0, 6)),
    ADD_PARTITIONS_TO_TXN: (("2.0", 0, 1), ("2.7", 0, 2), ("2.8", 0, 3)),  # newer versions are for brokers
    ADD_OFFSETS_TO_TXN: (("2.0", 0, 1), ("2.7", 0, 2), ("2.8", 0, 3), ("3.8", 0, 4)),
    END_TXN: (("2.0", 0, 1), ("2.7", 0, 2), ("2.8", 0, 3), ("3.8", 0, 4), ("4.0", 0, 5)),
    TXN_OFFSET_COMMIT: (("2.0", 0, 1), ("2.1", 0, 2), ("2.5", 0, 3), ("3.8", 0, 4), ("4.0", 0, 5)),
}  # fmt: skip


class UnsupportedVersionError(ProducerError):
    """The broker does not serve the API in a usable version."""

    kafka_name = "UnsupportedVersionException"


class ApiVersion(NamedTuple):
    """The versions of one API that a broker serves."""

    api_key: int
    min_version: int
    max_version: int


@cache
def client_range(api_key: int, generation: Generation) -> ApiVersion:
    """Return the versions that a client of the release can send."""
    versions = None
    for since, oldest, newest in _RANGES[api_key]:
        if generation >= Generation(since):
            versions = ApiVersion(api_key, oldest, newest)
    assert versions is not None
    return versions


class NodeApiVersions:
    """The versions that one broker serves."""

    def __init__(self, versions: Iterable[ApiVersion]) -> None:
        self._supported = {version.api_key: version for version in versions}

    def latest_usable_version(self, wanted: ApiVersion) -> int:
        """Return the newest of the `wanted` versions that the broker serves. Raises UnsupportedVersionError."""
        supported = self._supported.get(wanted.api_key)
        if supported is None:
            raise UnsupportedVersionError(f"The node does not serve the API {wanted.api_key}.")
        newest = min(supported.max_version, wanted.max_version)
        if newest < max(supported.min_version, wanted.min_version):
            raise UnsupportedVersionError(
                f"The node serves versions {supported.min_version} to {supported.max_version} of the API "
                f"{wanted.api_key}, and {wanted.min_version} to {wanted.max_version} would be needed."
            )
        return newest

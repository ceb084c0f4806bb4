"""Saying hello: ApiVersions at every version, and requests of versions and APIs that are not served."""

from __future__ import annotations

import struct

from conformance.frames import API_VERSIONS, CLIENT_ID, api_versions, metadata
from conformance.scenario import Case, Send, Settle

# What fakebroker serves: API key, its lowest and highest version, and the first version with a flexible header.
SERVED = {
    "Produce": (0, 3, 13, 9),
    "Fetch": (1, 4, 18, 12),
    "ListOffsets": (2, 1, 11, 6),
    "Metadata": (3, 0, 13, 9),
    "CreateTopics": (19, 2, 7, 5),
    "DeleteTopics": (20, 1, 6, 4),
    "InitProducerId": (22, 0, 5, 2),
    "OffsetForLeaderEpoch": (23, 2, 4, 4),
}

_SOFTWARE = {
    "empty-name": ("", "1.0"),
    "empty-version": ("test", ""),
    "space-in-name": ("a b", "1.0"),
    "dash-at-the-end": ("test-", "1.0"),
    "dot-at-the-start": ("test", ".1"),
    "one-letter": ("t", "1"),
    "dots-and-dashes": ("a-.b", "1.0-rc1"),
    "umlaut": ("t\u00e4st", "1.0"),
    "line-end": ("test\n", "1.0"),
    "underscore": ("te_st", "1.0"),
}


def header(api_key: int, version: int, flexible: bool, body: bytes = b"", correlation_id: int = 1) -> bytes:
    """A frame from its parts, whether or not the version exists."""
    client_id = CLIENT_ID.encode()
    head = struct.pack(">hhih", api_key, version, correlation_id, len(client_id)) + client_id
    data = head + (b"\0" if flexible else b"") + body
    return struct.pack(">i", len(data)) + data


def _closed(name: str, why: str, *frames: bytes) -> Case:
    return Case(f"handshake/{name}", why, (Send(frames), Settle()))


CASES = [
    *(
        _closed(f"api-versions-v{version}", "the served APIs, in the layout of this version", api_versions(version))
        for version in range(6)
    ),
    *(
        _closed(
            f"api-versions-unknown-{version}",
            "the response is in v0 with UNSUPPORTED_VERSION and the range of ApiVersions; the body is not "
            "read (KIP-511)",
            header(API_VERSIONS, version, version > 2, b"\xff" * 7),
            api_versions(0, correlation_id=2),
        )
        for version in (99, -1, 32767)
    ),
    *(
        _closed(
            f"api-versions-meant-{name}",
            "a request for another cluster id or node id gets an error; one id without the other is invalid (KIP-1242)",
            api_versions(5, cluster_id=cluster, node_id=node),
            api_versions(4, correlation_id=2),
        )
        for name, cluster, node in (
            ("no-cluster", None, 1),
            ("no-node", "another", -1),
            ("empty", "", 1),
            ("another", "another", 1),
            ("neither", None, -1),
        )
    ),
    _closed(
        "api-versions-meant-and-bad-name",
        "the format of the software name is checked first",
        api_versions(5, name="a b", cluster_id="another", node_id=1),
    ),
    *(
        _closed(
            f"software-{name}",
            "a software name or version with an invalid format gets INVALID_REQUEST (ApiVersionsRequest.isValid)",
            *(api_versions(version, version, *software) for version in (3, 4, 5)),
        )
        for name, software in _SOFTWARE.items()
    ),
    _closed(
        "api-versions-again",
        "ApiVersions can be sent at any time and any number of times",
        api_versions(3),
        metadata([], correlation_id=2),
        api_versions(0, correlation_id=3),
        api_versions(4, correlation_id=4),
    ),
    *(
        _closed(
            f"unknown-api-{key}",
            "an unknown API key closes the connection; requests before it get their responses",
            api_versions(0),
            header(key, 0, False, correlation_id=2),
        )
        for key in (-1, 999, 32767)
    ),
    *(
        _closed(
            f"{name}-v{version}",
            "an unsupported version closes the connection (RequestContext.parseRequest)",
            api_versions(0),
            header(key, version, version >= flexible, b"\0" * 8, 2),
        )
        for name, (key, lowest, highest, flexible) in SERVED.items()
        for version in (lowest - 1, highest + 1, 99)
    ),
    *(
        _closed(
            f"produce-v{version}",
            "a version that is advertised for old librdkafka closes the connection (KAFKA-18659)",
            header(0, version, False, struct.pack(">hii", -1, 1000, 0)),
        )
        for version in (0, 1)
    ),
]

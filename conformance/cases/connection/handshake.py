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
        _closed(f"api-versions-v{version}", "what is served, in this version's layout", api_versions(version))
        for version in range(6)
    ),
    *(
        _closed(
            f"api-versions-unknown-{version}",
            "answered in v0 with 35 and the range of ApiVersions, the body unread (KIP-511)",
            header(API_VERSIONS, version, version > 2, b"\xff" * 7),
            api_versions(0, correlation_id=2),
        )
        for version in (99, -1, 32767)
    ),
    *(
        _closed(
            f"api-versions-meant-{name}",
            "who means another cluster or broker is told so; the one without the other is bad (KIP-1242)",
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
        "the form of the software's name is looked at first",
        api_versions(5, name="a b", cluster_id="another", node_id=1),
    ),
    *(
        _closed(
            f"software-{name}",
            "who names his software in another form than Kafka's gets 42 (ApiVersionsRequest.isValid)",
            *(api_versions(version, version, *software) for version in (3, 4, 5)),
        )
        for name, software in _SOFTWARE.items()
    ),
    _closed(
        "api-versions-again",
        "ApiVersions may be asked for at any time and any number of times",
        api_versions(3),
        metadata([], correlation_id=2),
        api_versions(0, correlation_id=3),
        api_versions(4, correlation_id=4),
    ),
    *(
        _closed(
            f"unknown-api-{key}",
            "an unknown API key closes the connection; what came before is answered",
            api_versions(0),
            header(key, 0, False, correlation_id=2),
        )
        for key in (-1, 999, 32767)
    ),
    *(
        _closed(
            f"{name}-v{version}",
            "a version that is not served closes the connection (RequestContext.parseRequest)",
            api_versions(0),
            header(key, version, version >= flexible, b"\0" * 8, 2),
        )
        for name, (key, lowest, highest, flexible) in SERVED.items()
        for version in (lowest - 1, highest + 1, 99)
    ),
    *(
        _closed(
            f"produce-v{version}",
            "advertised for old librdkafka, and closed when sent (KAFKA-18659)",
            header(0, version, False, struct.pack(">hii", -1, 1000, 0)),
        )
        for version in (0, 1)
    ),
]

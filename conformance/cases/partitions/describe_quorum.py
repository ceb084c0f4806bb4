"""DescribeQuorum: the voters of the metadata quorum, and its observers."""

from __future__ import annotations

from typing import Any

from conformance.frames import request
from conformance.scenario import Case, Send, Settle

_KEY = 55
_METADATA = "__cluster_metadata"


def _asked(*topics: tuple[str, list[int]], version: int = 2, correlation_id: int = 1) -> bytes:
    named: list[dict[str, Any]] = [
        {"topic_name": name, "partitions": [{"partition_index": index} for index in indexes]}
        for name, indexes in topics
    ]
    return request(_KEY, version, {"topics": named}, correlation_id)


def _case(name: str, why: str, *frames: bytes, box: str = "one") -> Case:
    return Case(f"describe-quorum/{name}", why, (Send(frames), Settle()), (), box)


CASES: list[Case] = [
    *(
        _case(
            f"v{version}",
            "the metadata partition, and other partitions",
            _asked((_METADATA, [0]), version=version),
            _asked((_METADATA, [1]), version=version, correlation_id=2),
            _asked(("other", [0]), version=version, correlation_id=3),
            _asked((_METADATA, [0, 1]), version=version, correlation_id=4),
            _asked((_METADATA, [0]), ("other", [0]), version=version, correlation_id=5),
            _asked(version=version, correlation_id=6),
            _asked((_METADATA, []), version=version, correlation_id=7),
            _asked((_METADATA, [0, 0]), version=version, correlation_id=8),
            _asked((_METADATA, [0]), (_METADATA, [0]), version=version, correlation_id=9),
        )
        for version in range(3)
    ),
    _case("three", "one voter, and the other brokers are observers", _asked((_METADATA, [0])), box="three"),
]

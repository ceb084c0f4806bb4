"""DescribeCluster at every version: the brokers that run, those that do not, and endpoints that are not here."""

from __future__ import annotations

from typing import Any

from conformance.frames import request
from conformance.scenario import Case, Send, Settle, StartBroker, StopBroker

_KEY = 60
_REQUEST: dict[str, Any] = {
    "include_cluster_authorized_operations": False,
    "endpoint_type": 1,
    "include_fenced_brokers": False,
}


def _asked(version: int, correlation_id: int = 1, **values: Any) -> bytes:
    return request(_KEY, version, _REQUEST | values, correlation_id)


def _case(name: str, why: str, *frames: bytes, box: str = "one") -> Case:
    return Case(f"describe-cluster/{name}", why, (Send(frames), Settle()), box=box)


CASES: list[Case] = [
    *(
        _case(
            f"v{version}",
            "cluster and brokers, with and without authorized operations (AuthHelper.computeDescribeClusterResponse)",
            _asked(version, 1),
            _asked(version, 2, include_cluster_authorized_operations=True),
        )
        for version in range(3)
    ),
    *(
        _case(
            f"endpoint-type-v{version}",
            "the broker has no controller listener; unknown endpoint types (EndpointType.fromId)",
            *(
                _asked(version, number, endpoint_type=kind, include_cluster_authorized_operations=True)
                for number, kind in enumerate((2, 0, 3, -1, 127), 1)
            ),
        )
        for version in (1, 2)
    ),
    _case(
        "three",
        "all brokers in order, and none is fenced",
        *(_asked(version, version, include_fenced_brokers=True) for version in range(3)),
        box="three",
    ),
    Case(
        "describe-cluster/stopped",
        "a stopped broker is returned from v2 on, if the request includes fenced brokers; then it runs again",
        (
            StopBroker(3),
            Send((_asked(0, 1), _asked(1, 2), _asked(2, 3), _asked(2, 4, include_fenced_brokers=True))),
            Settle(),
            StartBroker(3),
            Send((_asked(2, 5), _asked(2, 6, include_fenced_brokers=True))),
            Settle(),
        ),
        box="stops",
    ),
]

"""A request to a node, and its outcome.

Source   clients/.../clients/{ClientRequest,ClientResponse}.java of 2.0 and 4.3; `shouldClientThrottle` of the
         responses.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from fakebroker.producer.network.node_api_versions import (
    API_VERSIONS,
    METADATA,
    PRODUCE,
    ApiVersion,
    UnsupportedVersionError,
)
from fakebroker.protocol.error_code import ErrorCode

_THROTTLES_SINCE: Final = {PRODUCE: 6, METADATA: 6, API_VERSIONS: 2}  # KIP-219
_OTHERS_SINCE: Final = 1


class ClientRequest:
    """A request to `node`, in one of the versions `wanted`. `body` is an object for the encoder. `version` is chosen
    when it is sent. `is_internal`: the network client itself sends it."""

    __slots__ = (
        "body", "correlation_id", "created_ms", "expects_response", "is_internal", "node", "timeout_ms", "version",
        "wanted",
    )  # fmt: skip

    def __init__(
        self,
        node: int,
        wanted: ApiVersion,
        body: object,
        correlation_id: int,
        created_ms: int,
        timeout_ms: int,
        expects_response: bool = True,
        is_internal: bool = False,
    ) -> None:
        self.node = node
        self.wanted = wanted
        self.body = body
        self.correlation_id = correlation_id
        self.created_ms = created_ms
        self.timeout_ms = timeout_ms
        self.expects_response = expects_response
        self.is_internal = is_internal
        self.version = wanted.max_version

    @property
    def api_key(self) -> int:
        return self.wanted.api_key


class ExpectedBroker(NamedTuple):
    """The broker and cluster that a connection should reach; another broker refuses it (KIP-1242). `node_id` is -1 and
    `cluster_id` is None if the client does not know them."""

    cluster_id: str | None = None
    node_id: int = -1


class BrokerApiVersions:
    """The APIs that a broker serves, or an error. `transaction_version` is the cluster's level of that feature as of
    `features_epoch`, which is -1 if the broker sends no features."""

    __slots__ = ("error", "features_epoch", "throttle_time_ms", "transaction_version", "versions")

    def __init__(
        self,
        versions: Iterable[ApiVersion],
        error: int = ErrorCode.none,
        throttle_time_ms: int = 0,
        features_epoch: int = -1,
        transaction_version: int = 0,
    ) -> None:
        self.versions = list(versions)
        self.features_epoch = features_epoch
        self.transaction_version = transaction_version
        self.error = error
        self.throttle_time_ms = throttle_time_ms

    def max_version_of(self, api_key: int) -> int:
        """Return the newest version of the API, 0 if the broker does not name it."""
        return next((one.max_version for one in self.versions if one.api_key == api_key), 0)


class ClientResponse:
    """The outcome of a request: a response (`body`, None with acks=0), a closed connection (`was_timed_out` if the
    client closed it after a timeout), or no usable version."""

    __slots__ = ("body", "received_ms", "request", "version_mismatch", "was_disconnected", "was_timed_out")

    def __init__(
        self,
        request: ClientRequest,
        received_ms: int,
        body: object = None,
        was_disconnected: bool = False,
        was_timed_out: bool = False,
        version_mismatch: UnsupportedVersionError | None = None,
    ) -> None:
        self.request = request
        self.received_ms = received_ms
        self.body = body
        self.was_disconnected = was_disconnected
        self.was_timed_out = was_timed_out
        self.version_mismatch = version_mismatch


def should_client_throttle(api_key: int, version: int) -> bool:
    """Return True if the broker responded before the end of the throttle time, so that the client has to wait."""
    return version >= _THROTTLES_SINCE.get(api_key, _OTHERS_SINCE)

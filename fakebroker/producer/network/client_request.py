"""What is sent to a node, and what becomes of it.

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
    """A request to `node`, in one of the versions `wanted`; `body` is whatever the writer of its bytes understands.
    `version` is chosen when it is sent. `is_internal`: the network client itself wants it."""

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
    """Which broker of which cluster a connection should lead to: who is another one refuses it (KIP-1242). `node_id` is
    -1 and `cluster_id` None where the client does not know."""

    cluster_id: str | None = None
    node_id: int = -1


class ApiVersionsResponse:
    """What a broker says that it serves, or why not. `transaction_version` is the level of that feature in the whole
    cluster, as of `features_epoch`; -1 if it does not tell of features."""

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
        """0 if it does not say."""
        return next((one.max_version for one in self.versions if one.api_key == api_key), 0)


class ClientResponse:
    """The end of a request: an answer (`body`, None with acks=0), a connection that ended before (`was_timed_out` if
    the client ended it because it took too long), or no version in which it could be sent."""

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
    """Whether the broker has answered before the time was over, and counts on the client to wait."""
    return version >= _THROTTLES_SINCE.get(api_key, _OTHERS_SINCE)

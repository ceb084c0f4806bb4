"""Common parts of the APIs of delegation tokens.

Source   core/.../server/KafkaApis.scala allowTokenRequests @ 4.0; DelegationTokenManager.java ERROR_TIMESTAMP.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from fakebroker.apis.context import RequestContext
from fakebroker.core.security.identity import ANONYMOUS, PLAINTEXT, SSL

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


def time_of(ms: int) -> datetime:
    """Return wall milliseconds as messages have them."""
    return _EPOCH + ms * _MILLISECOND


def milliseconds(duration: timedelta) -> int:
    return duration // _MILLISECOND


ERROR_TIME: Final = time_of(-1)
UNSET_TIME: Final = time_of(0)  # the default of the field, for a refusal of the controller


def allow_token_requests(ctx: RequestContext) -> bool:
    """Return True if the client may make and see delegation tokens: it is authenticated, and not by such a token."""
    protocol = ctx.listener.security_protocol
    return not (
        ctx.is_token_authenticated
        or protocol == PLAINTEXT.security_protocol
        or (protocol == SSL and ctx.principal == ANONYMOUS)
    )

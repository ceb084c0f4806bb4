"""A response that may be ready at once, within the handler, or later.

Theory   Either way the response is encoded in slices: at once by the handler; later by the broker itself, because the
         code that completes the operation must not be held up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from fakebroker.apis.context import RequestContext
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices

if TYPE_CHECKING:
    from kio.static.protocol import ResponsePayload

T = TypeVar("T")


class Later(Generic[T]):
    """The callback `then` of a coordinator's operation. The handler ends with `yield from later.answer()`. `make` makes
    the message of a response; `fail` that of an error."""

    __slots__ = ("_ctx", "_fail", "_is_left", "_make", "_response")

    def __init__(
        self,
        ctx: RequestContext,
        make: Callable[[T], ResponsePayload],
        fail: Callable[[ErrorCode], ResponsePayload],
    ) -> None:
        self._ctx = ctx
        self._make = make
        self._fail = fail
        self._is_left = False
        self._response: list[Any] = []

    def __call__(self, response: T | KafkaError) -> None:
        if not self._is_left:
            self._response.append(response)
            return
        try:
            message = self._message(response)
        except Exception:
            self._ctx.respond(self._fail(ErrorCode.unknown_server_error))
            raise
        self._ctx.transactions.in_turns.go_on("an answer", self._ctx.respond_in_slices(message))

    def answer(self) -> Slices[None]:
        """Respond, if the result is there; else let the callback respond."""
        if self._response:
            yield from self._ctx.respond_in_slices(self._message(self._response[0]))
        else:
            self._is_left = True

    def _message(self, response: T | KafkaError) -> ResponsePayload:
        return self._fail(response.code) if isinstance(response, KafkaError) else self._make(response)

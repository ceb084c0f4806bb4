"""An answer that may come at once, within the handler, or later, when somebody else is at work.

Theory   Either way the answer is made in slices: at once by the handler; later by the broker itself, since whoever
         calls then has no time to lose.
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
    """What an operation of a coordinator is given as `then`. The handler calls it off with `yield from later.answer()`.
    `make` makes the message of a response; `fail` that of an error."""

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
        """Answer, if the response is there; else whoever brings it does."""
        if self._response:
            yield from self._ctx.respond_in_slices(self._message(self._response[0]))
        else:
            self._is_left = True

    def _message(self, response: T | KafkaError) -> ResponsePayload:
        return self._fail(response.code) if isinstance(response, KafkaError) else self._make(response)

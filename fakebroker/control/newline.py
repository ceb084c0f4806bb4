"""Responses that end with a newline, so that a shell's prompt is not behind the output of curl."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class WithNewline:
    """A middleware around an application. Streams are left alone."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start: Message | None = None

        async def end_with_newline(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and "content-length" in MutableHeaders(raw=message["headers"]):
                start = message
                return
            if start is not None:
                body = message.get("body", b"")
                if body and not body.endswith(b"\n") and not message.get("more_body", False):
                    message = {**message, "body": body + b"\n"}
                    MutableHeaders(raw=start["headers"])["content-length"] = str(len(body) + 1)
                begun, start = start, None
                await send(begun)
            await send(message)

        await self._app(scope, receive, end_with_newline)

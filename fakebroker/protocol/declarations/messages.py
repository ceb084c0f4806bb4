"""Declarations shared by all messages: the frame and the headers."""

from __future__ import annotations

from construct import Construct, Int16sb, Int32sb, Prefixed, Struct, Terminated

from fakebroker.protocol.declarations.layout import sized_string, tagged_section

__all__ = ["frame", "request_header", "response_header"]


def frame(header: Construct, body: Construct) -> Construct:
    """Return a length that excludes itself, a header, a body, and nothing behind them."""
    return Prefixed(Int32sb, Struct("header" / header, "body" / body, Terminated))


def request_header(version: int) -> Struct:
    """Return version 1 or 2; the client id keeps its fixed-size length in both."""
    return Struct(
        "api_key" / Int16sb,
        "api_version" / Int16sb,
        "correlation_id" / Int32sb,
        "client_id" / sized_string(Int16sb),
        *([tagged_section()] if version >= 2 else []),
    )


def response_header(version: int) -> Struct:
    """Return version 0 or 1."""
    return Struct(
        "correlation_id" / Int32sb,
        *([tagged_section()] if version >= 1 else []),
    )

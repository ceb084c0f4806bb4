"""Byte layouts as tables, in construct: slow, complete, and the oracle of every fast path.

A declaration parses and builds, so this documentation cannot differ from the bytes. It takes tens of microseconds a
message and belongs in tools and tests, never in the path of a request. So the bare install lacks construct: `pip
install construct`, or the extra `test`.
"""

from fakebroker.protocol.declarations.layout import Layout
from fakebroker.protocol.declarations.messages import frame, request_header, response_header
from fakebroker.protocol.declarations.produce import produce_request, produce_response
from fakebroker.protocol.declarations.records import CONTROL_KEY, END_TXN_MARKER, RECORD, RECORD_BATCH

__all__ = [
    "CONTROL_KEY",
    "END_TXN_MARKER",
    "RECORD",
    "RECORD_BATCH",
    "Layout",
    "frame",
    "produce_request",
    "produce_response",
    "request_header",
    "response_header",
]

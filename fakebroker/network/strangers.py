"""Detection of other protocols: bytes that are no Kafka request.

Theory   The first four bytes of a request are its length. Those of other protocols are letters, or the type and version
         of a TLS record, and give a length above any limit. A SASL token without SaslHandshake has a length, and then
         no header.
Source   RFC 8446 (TLSPlaintext), RFC 9110 and RFC 5789 (HTTP's methods); RFC 9113 (the preface of HTTP/2), HAProxy's
         proxy-protocol.txt (versions 1 and 2); RFC 4616 (SASL PLAIN), RFC 5802 (the GS2 header), RFC 2743 (GSSAPI
         tokens); the order of requests before KIP-43.
"""

from __future__ import annotations

import re
from typing import Final

_HANDSHAKE: Final = b"\x16\x03"  # TLS: the record type, and the major version
_METHODS: Final = "CONNECT DELETE GET HEAD OPTIONS PATCH POST PRI PUT TRACE"  # PRI begins a connection of HTTP/2
_HTTP: Final = tuple(f"{method} "[:4].encode() for method in _METHODS.split())
_PROXY: Final = (b"PROX", b"\r\n\r\n")  # versions 1 and 2: each signature is longer
_PLAIN: Final = re.compile(rb"[^\0]*\0[^\0]+\0[^\0]+")
_GS2: Final = re.compile(rb"(n|y|p=[^,]+),(a=[^,]*)?,")
_GSSAPI: Final = b"\x60"


def in_place_of_length(length: int) -> str:
    """Return a sentence about the protocol that begins with these four bytes, with a blank before it; "" if it is
    unknown."""
    first = length.to_bytes(4, "big")
    if first.startswith(_HANDSHAKE):
        return " It begins as TLS does: this listener is plain text, so the client needs security.protocol=PLAINTEXT."
    if first in _HTTP:
        return " It begins as HTTP does: this port speaks Kafka's protocol, and the HTTP control has a port of its own."
    if first == b"SSH-":
        return " It begins as SSH does: this port speaks Kafka's protocol."
    if first in _PROXY:
        return " It begins as the PROXY protocol does: the proxy in front of this port must not send that header."
    return ""


def in_place_of_header(frame: bytes) -> str:
    """Return a sentence about the protocol of a frame without a request header, with a blank before it; "" if it is
    unknown."""
    if _PLAIN.fullmatch(frame) or _GS2.match(frame) or frame.startswith(_GSSAPI):
        return (
            " It looks like a SASL token that no SaslHandshake came before: the client must send that request first, "
            "or needs security.protocol=PLAINTEXT."
        )
    return ""


def in_place_of_http(first: bytes) -> str:
    """Return a clause about the protocol of a connection to an HTTP port that begins so; "" if it may be HTTP."""
    if first.startswith(b"\0"):
        return "it speaks Kafka's protocol, and this is the HTTP control: brokers listen where the ready line says"
    if first.startswith(_HANDSHAKE):
        return "it speaks TLS, and the control is plain HTTP: its URL begins with http://"
    if first.startswith(b"SSH-"):
        return "it speaks SSH, and this is the HTTP control"
    if first.startswith(_PROXY):
        return "it begins as the PROXY protocol does, and this is the HTTP control: a proxy must not send that header"
    return ""

"""Descriptions of bytes that are no request (network/strangers.py)."""

from __future__ import annotations

from http import HTTPMethod

import pytest

from fakebroker.network.strangers import in_place_of_header, in_place_of_http, in_place_of_length


@pytest.mark.parametrize(
    ("first", "word"),
    [
        (b"\x16\x03\x01\x02", "TLS"),
        (b"\x16\x03\x03\x00", "TLS"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP"),
        *((f"{method} * HTTP/1.1".encode(), "HTTP") for method in HTTPMethod),
        (b"SSH-", "SSH"),
        (b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 9092\r\n", "PROXY"),
        (b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c", "PROXY"),
    ],
)
def test_other_protocols_in_place_of_a_length(first: bytes, word: str) -> None:
    explanation = in_place_of_length(int.from_bytes(first[:4], "big"))
    assert explanation.startswith((f" It begins as {word}", f" It begins as the {word} protocol"))


@pytest.mark.parametrize("length", [0, 1, 104_857_601, 2**31 - 1, int.from_bytes(b"abcd", "big")])
def test_a_length_that_is_only_too_large(length: int) -> None:
    assert in_place_of_length(length) == ""


@pytest.mark.parametrize(
    "frame", [b"\0a\0b", b"z\0alice\0secret", b"n,,n=a,r=b", b"p=tls-unique,,n=a", b"n,a=b,\x01auth=Bearer x"]
)
def test_tokens_of_sasl(frame: bytes) -> None:
    assert "SaslHandshake" in in_place_of_header(frame)


@pytest.mark.parametrize(
    "frame", [b"", b"\0", b"\0\0\0\x09\0\0\0\1\0\1a", b"\0\x12\0\3\0\0\0\0\xff\xff\0", b"\x27\x0f\0\0\0\0\0\1"]
)
def test_headers_are_no_tokens(frame: bytes) -> None:
    assert in_place_of_header(frame) == ""


def test_what_comes_in_place_of_http() -> None:
    assert "Kafka" in in_place_of_http(b"\0\0\0\x20\0\x12\0\3")
    assert "TLS" in in_place_of_http(b"\x16\x03\x01\x02\0\x01")
    assert "SSH" in in_place_of_http(b"SSH-2.0-x")
    assert "PROXY" in in_place_of_http(b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 9644\r\n")
    assert "PROXY" in in_place_of_http(b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c")
    assert in_place_of_http(b"GET / HTTP/1.1") == in_place_of_http(b"nonsense") == ""

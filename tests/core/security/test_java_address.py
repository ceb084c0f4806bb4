"""Addresses of clients, as Java writes them (core/security/java_address.py)."""

from __future__ import annotations

import pytest

from fakebroker.core.security.cidr import is_in_range
from fakebroker.core.security.java_address import java_address


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("", ""),
        ("10.0.0.1", "10.0.0.1"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("2001:db8::00ff", "2001:db8:0:0:0:0:0:ff"),
        ("::ffff:10.0.0.1", "10.0.0.1"),  # Java has no such address of IPv6
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1%eth0"),
    ],
)
def test_an_address_is_written_as_in_java(address: str, expected: str) -> None:
    assert java_address(address) == expected


@pytest.mark.parametrize(
    ("address", "network", "expected"),
    [
        ("::ffff:10.0.0.1", "10.0.0.0/8", True),
        ("fe80::1%eth0", "fe80::/10", True),
        ("fe80::1%eth0", "2001:db8::/32", False),
    ],
)
def test_such_an_address_is_looked_up_in_networks(address: str, network: str, expected: bool) -> None:
    assert is_in_range(java_address(address), network) is expected

"""Networks as hosts of ACLs."""

from __future__ import annotations

import pytest

from fakebroker.core.security.cidr import is_in_range, validate


@pytest.mark.parametrize(
    ("host", "pattern", "expected"),
    [
        ("10.1.2.3", "10.0.0.0/8", True),
        ("10.0.0.0", "10.0.0.0/8", True),
        ("10.255.255.255", "10.0.0.0/8", True),
        ("11.0.0.0", "10.0.0.0/8", False),
        ("10.1.2.3", "10.9.9.9/8", True),
        ("10.1.2.3", "0.0.0.0/0", True),
        ("10.1.2.3", "10.1.2.3", False),
        ("0:0:0:0:0:0:0:1", "::1/128", True),
        ("0:0:0:0:0:0:0:1", "127.0.0.0/8", False),
        ("127.0.0.1", "::/0", False),
        ("10.1.2.3", "nonsense/8", False),
        ("", "0.0.0.0/0", False),
    ],
)
def test_an_address_is_in_a_network(host: str, pattern: str, expected: bool) -> None:
    assert is_in_range(host, pattern) is expected


@pytest.mark.parametrize("pattern", ["10.0.0.0/8", "10.0.0.0/32", "0.0.0.0/0", "2001:db8::/32"])
def test_a_network_is_valid(pattern: str) -> None:
    validate(pattern)


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("10.0.0/8", "Could not parse"),
        ("/", "Could not parse"),
        ("10.0.0.256/8", "Value \\[256\\] not in range"),
        ("10.0.0.0/33", "Value \\[33\\] not in range"),
        ("2001:db8::/129", "prefix length must be between 0 and 128"),
        ("2001:db8::/x", "invalid prefix length"),
        ("1::2::3/8", r"Could not parse \[1::2::3\]"),
    ],
)
def test_another_text_is_refused_with_the_reason(pattern: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        validate(pattern)

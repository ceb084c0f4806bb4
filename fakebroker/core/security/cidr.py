"""Networks in CIDR notation, as hosts of ACLs (KIP-1276).

Theory   A network is an address and the number of its leading bits that count: 10.0.0.0/8. All its addresses match, the
         first and the last one too. An address of IPv4 is in no network of IPv6, and the reverse.
Source   clients/.../server/authorizer/internals/CidrUtils.java @ 4.4, which uses SubnetUtils of Apache Commons Net.
Differs  Text that Java's parser of IPv6 accepts and Python's does not (a zone, bits above 128) is refused.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

_IPV4: Final = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})/(\d{1,2})", re.ASCII)


def validate(pattern: str) -> None:
    """Raise ValueError, with Kafka's reason, if the text is no network."""
    if ":" in pattern:
        _validate_ipv6(pattern)
        return
    match = _IPV4.fullmatch(pattern)
    if match is None:
        raise ValueError(f"Could not parse [{pattern}]")
    *octets, bits = map(int, match.groups())
    for octet in octets:
        if octet > 255:
            raise ValueError(f"Value [{octet}] not in range [0,255]")
    if bits > 32:
        raise ValueError(f"Value [{bits}] not in range [0,32]")


def _validate_ipv6(pattern: str) -> None:
    address, _, bits = pattern.partition("/")
    if not (bits.isascii() and bits.isdecimal()):
        raise ValueError(f"Could not parse [{pattern}] - invalid prefix length")
    if int(bits) > 128:
        raise ValueError(f"Could not parse [{pattern}] - prefix length must be between 0 and 128")
    try:
        IPv6Address(address)
    except ValueError:
        raise ValueError(f"Could not parse [{address}]") from None


def is_in_range(host: str, pattern: str) -> bool:
    """Return True if the address is in the network. Anything else than a network contains none; a client without an
    address is in none."""
    network = _network(pattern)
    return network is not None and bool(host) and ip_address(host) in network


@lru_cache(maxsize=4096)
def _network(pattern: str) -> IPv4Network | IPv6Network | None:
    if "/" not in pattern:
        return None
    address, _, bits = pattern.partition("/")
    if ":" not in pattern:  # Java takes leading zeros
        address = ".".join(str(int(part)) if part.isdecimal() else part for part in address.split("."))
    if not bits.isdecimal():
        return None
    try:
        return ip_network(f"{address}/{bits}", strict=False)
    except ValueError:
        return None

"""An IP address as Java writes it: all eight numbers of IPv6, without leading zeros.

Source   java.net.InetAddress.getByAddress, java.net.Inet6Address.getHostAddress.
Differs  The zone of a link-local address is the name of the interface, as in Python. In Kafka it is its number.
"""

from __future__ import annotations

from ipaddress import IPv6Address


def java_address(address: str) -> str:
    """Return `address`, an IP address or empty, as Java writes it. An IPv4 address that is mapped to IPv6 is one of
    IPv4."""
    if ":" not in address:
        return address
    parsed, zone = IPv6Address(address.partition("%")[0]), "".join(address.partition("%")[1:])
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return ":".join(f"{int(part, 16):x}" for part in parsed.exploded.split(":")) + zone

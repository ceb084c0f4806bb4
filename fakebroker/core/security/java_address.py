"""An IP address as Java writes it: all eight numbers of IPv6, without leading zeros.

Source   java.net.Inet6Address.getHostAddress.
"""

from __future__ import annotations

from ipaddress import IPv6Address


def java_address(address: str) -> str:
    """Return `address`, an IP address or empty, as Java writes it."""
    if ":" not in address:
        return address
    return ":".join(f"{int(part, 16):x}" for part in IPv6Address(address).exploded.split(":"))

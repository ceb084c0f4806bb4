"""An IP address as Java writes it: all eight numbers of IPv6, without zeros before them.

Source   java.net.Inet6Address.getHostAddress.
"""

from __future__ import annotations

from ipaddress import IPv6Address


def java_address(address: str) -> str:
    """`address` is one, or empty."""
    if ":" not in address:
        return address
    return ":".join(f"{int(part, 16):x}" for part in IPv6Address(address).exploded.split(":"))

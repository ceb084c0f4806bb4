"""The setting `max.connections.per.ip.overrides`: the limit of connections for single addresses.

Source   core/.../server/KafkaConfig.scala @ 4.0, which reads it by CoreUtils.parseCsvMap.
Differs  Addresses only: a host name would have to be looked up.
"""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address

from fakebroker.core.errors import ConfigError

OVERRIDES = "max.connections.per.ip.overrides"


def parse_overrides(text: str) -> dict[str, int]:
    """Read "address:count,address:count". Raise ConfigError. The last colon ends an IPv6 address."""
    overrides = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        host, _, count = item.rpartition(":")
        try:
            address = normalized(host.strip().strip("[]"), strict=True)
        except ValueError:
            raise ConfigError(
                f"Invalid value {text!r} for configuration {OVERRIDES}: {item!r} is not ADDRESS:COUNT, as in "
                "127.0.0.1:200 (host names are not looked up)"
            ) from None
        if not count.strip().isdecimal():
            raise ConfigError(f"Invalid value {text!r} for configuration {OVERRIDES}: {count!r} is not a number")
        overrides[address] = int(count)
    return overrides


def normalized(address: str, strict: bool = False) -> str:
    """Return one spelling for each address. An IPv4 address that arrived over IPv6 becomes that IPv4 address.

    A text that is no address is returned unchanged, or raises ValueError if `strict`.
    """
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        if strict:
            raise
        return address
    mapped = ip.ipv4_mapped if isinstance(ip, IPv6Address) else None
    return str(mapped or ip)

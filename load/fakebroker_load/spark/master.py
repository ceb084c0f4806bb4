"""The address of a Spark master, and whether it responds. This is checked first, since Spark tries for a minute and
prints.

Errors   MasterError: the text names no master. MasterUnreachable: the master does not respond. One sentence each.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit

CONNECT_TIMEOUT_S = 3
LOOPBACK = "127.0.0.1"
# local, local[4], local[*], local[4,2]: Spark 4.3, org.apache.spark.SparkMasterRegex
_LOCAL = re.compile(r"local(\[(\d+|\*)(\s*,\s*\d+)?\])?")
_KINDS = "local[N], spark://HOST:PORT, yarn or k8s://https://HOST:PORT"

Address = tuple[str, int]


class MasterError(Exception):
    """The text is no Spark master; the message is for the user."""


class MasterUnreachable(Exception):
    """The Spark master does not respond; the message is for the user."""


def is_local(master: str) -> bool:
    """Return True if driver and executors are one process, on this machine."""
    return _LOCAL.fullmatch(master) is not None


def addresses(master: str) -> list[Address]:
    """Return the possible addresses of a standalone or a Kubernetes master; none if its name has none. Raises
    MasterError."""
    if is_local(master) or master == "yarn":
        return []
    kind, _, rest = master.partition("://")
    if kind == "spark":
        return [_address(master, f"//{part}", None) for part in rest.split(",")]
    if kind == "k8s":
        plain = rest.startswith("http://")
        return [_address(master, rest if "://" in rest else f"//{rest}", 80 if plain else 443)]
    raise MasterError(f"--master {master!r} is no Spark master; there are {_KINDS}.")


def _address(master: str, url: str, default_port: int | None) -> Address:
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or default_port
    except ValueError:
        host = port = None
    if not host or not port:
        raise MasterError(f"--master {master!r} is no Spark master; there are {_KINDS}.")
    return host, port


def check_master(master: str, environment: Mapping[str, str] = os.environ) -> None:
    """Raise MasterError, or MasterUnreachable within seconds."""
    places = addresses(master)
    if master == "yarn" and not {"HADOOP_CONF_DIR", "YARN_CONF_DIR"} & set(environment):
        raise MasterUnreachable(
            "--master yarn: neither HADOOP_CONF_DIR nor YARN_CONF_DIR is set, so nothing says where YARN is."
        )
    complaint = ""
    for place in places:
        try:
            socket.create_connection(place, CONNECT_TIMEOUT_S).close()
        except OSError as error:
            complaint = complaint or str(error)
        else:
            return
    if places:
        raise MasterUnreachable(f"The Spark master {master} does not answer ({complaint}).")


def driver_host(master: str) -> str | None:
    """Return our address on the route to the master, for the executors. Nothing is sent. Return None if the master's
    name has no address; then Spark looks up this machine's name."""
    if is_local(master):
        return LOOPBACK  # no look-up of the machine's name: it may not resolve
    for place in addresses(master):
        with suppress(OSError):
            family, kind, protocol, _, address = socket.getaddrinfo(*place, type=socket.SOCK_DGRAM)[0]
            with socket.socket(family, kind, protocol) as towards:
                towards.connect(address)
                return str(towards.getsockname()[0])
    return None

"""The bytes that clients have sent and a paused broker has not handled."""

from __future__ import annotations

import fcntl
import struct
import termios

from fakebroker import FakeCluster


def unread_bytes(kafka: FakeCluster) -> int:
    """Return the bytes in the buffers of the sockets, and those that were read and are no whole request yet."""
    server = kafka._cluster.server.driver

    def count() -> int:
        total = 0
        for connection, transport in server.transports.items():
            waiting = fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.FIONREAD, bytes(4))
            total += connection.decoder.buffered + struct.unpack("i", waiting)[0]
        return total

    return kafka._call(count)

"""The conversion between bytes and messages: framing, headers, messages, record batches, error codes. No sockets and no
clock."""

from fakebroker.protocol.kio_types.drawn import import_kio_alone

import_kio_alone()

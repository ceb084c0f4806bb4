"""The detection of connections that are not freed. The compiled class has no weak references, so an object that has
them is attached to the connection. This module is not compiled for that reason."""

from __future__ import annotations

import weakref

from fakebroker.network.connection import Connection


class ConnectionLifetime:
    """An object with the lifetime of the connection that it is attached to."""


def mark(connection: Connection) -> weakref.ref[ConnectionLifetime]:
    """Return a weak reference that dies with the connection."""
    connection.attachment = attached = ConnectionLifetime()
    return weakref.ref(attached)

"""Detect connections that are not freed, by a weak reference to an object that only the connection holds.

The compiled class of connections has no weak references itself. This module is not compiled, so its class has them.
"""

from __future__ import annotations

import weakref

from fakebroker.network.connection import Connection


class ConnectionLifetime:
    """An object that lives as long as the connection that it is attached to."""


def lifetime_of(connection: Connection) -> weakref.ref[ConnectionLifetime]:
    """Return a weak reference that dies with the connection, or at the next call for the same connection."""
    connection.attachment = lifetime = ConnectionLifetime()
    return weakref.ref(lifetime)

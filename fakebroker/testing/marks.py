"""Whether a connection is still there. Compiled, its class has no weak references, so something is attached to it that
has; this module is not compiled for that reason."""

from __future__ import annotations

import weakref

from fakebroker.network.connection import Connection


class Mark:
    """Goes with the connection that it is attached to."""


def mark(connection: Connection) -> weakref.ref[Mark]:
    """A reference that is dead once nobody holds the connection."""
    connection.attachment = attached = Mark()
    return weakref.ref(attached)

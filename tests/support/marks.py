"""Whether a connection is still there: compiled, its class has no weak references, so something is attached to it."""

from __future__ import annotations

import weakref

from fakebroker.core.connection import Connection


class Mark:
    """Goes with the connection."""


def mark(connection: Connection) -> weakref.ref[Mark]:
    connection.attachment = attached = Mark()
    return weakref.ref(attached)

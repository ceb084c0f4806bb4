"""The loss of a broker's logs in a crash, which takes effect at its next start.

Theory   A process that dies leaves its writes in the page cache of its machine. A machine that dies loses all that was
         not flushed: each log ends at its recovery point. If the disk is lost, all is gone, and the broker starts with
         empty logs.
Source   storage/internals/log/{LogLoader,LogManager}.java @ 4.0: after a crash the part behind the recovery point is
         checked, and the log ends where no whole batch follows. Here nothing behind it is whole.
"""

from __future__ import annotations

from enum import IntEnum


class CrashLoss(IntEnum):
    """The kinds of loss. A larger value is a worse loss."""

    NOTHING = 0
    UNFLUSHED = 1
    EVERYTHING = 2

"""What a crash takes of a broker's logs, which shows when it starts again.

Theory   A process that dies leaves what it wrote to the page cache of its machine. A machine that dies takes along what
         was not flushed: behind its recovery point each log ends. With its disk all is gone, and the broker starts
         with empty logs.
Source   storage/internals/log/{LogLoader,LogManager}.java @ 4.0: what is behind the recovery point is looked through
         after a crash, and the log ends where no whole batch comes any more. Here nothing behind it is whole.
"""

from __future__ import annotations

from enum import IntEnum


class CrashLoss(IntEnum):
    """The worse, the larger."""

    NOTHING = 0
    UNFLUSHED = 1
    EVERYTHING = 2

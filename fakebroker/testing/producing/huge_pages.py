"""Huge pages for a process with much memory and little locality, such as a long simulation.

Theory   A simulation of a thousand producers visits each of them every half minute. By then nearly all of its data has
         left the processor's caches, and its page table entries have left the TLB. With pages of 2 MiB instead of 4 KiB
         the TLB is large enough. Python allocates memory in adjacent arenas of 1 MiB, and the kernel turns them into
         huge pages on request. Later memory has small pages again, so repeat the request at intervals.
Source   madvise(2): MADV_HUGEPAGE, and MADV_COLLAPSE of Linux 6.1; proc(5): smaps.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_SIZE_FILE: Final = Path("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
_MAPS_FILE: Final = Path("/proc/self/smaps")
_MADV_HUGEPAGE: Final = 14
_MADV_COLLAPSE: Final = 25


def ask_for_huge_pages() -> int:
    """Request huge pages for this process. Return the number of bytes in huge pages now. It is 0 if there are none: not
    Linux, before Linux 6.1, or disabled. This affects only speed and memory: missing parts of a page are allocated, at
    most as much as before."""
    if sys.platform != "linux":
        return 0
    try:
        page = int(_SIZE_FILE.read_text())
        ranges = own_ranges(_MAPS_FILE.read_text().splitlines())
    except OSError:  # not available
        return 0
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    given = 0
    for start, end in ranges:
        first, last = -(-start // page) * page, end // page * page
        if first >= last or madvise(first, last - first, _MADV_HUGEPAGE) != 0:
            continue
        given += sum(page for at in range(first, last, page) if madvise(at, page, _MADV_COLLAPSE) == 0)
    return given


def own_ranges(smaps: Iterable[str]) -> list[tuple[int, int]]:
    """Return the writable, mostly resident memory ranges of this process: first address and end. Adjacent ranges are
    merged."""
    ranges: list[tuple[int, int]] = []
    start = end = 0
    for line in smaps:
        words = line.split()
        if not words[0].endswith(":"):
            start, end = (int(address, 16) for address in words[0].split("-"))
            if words[1] != "rw-p" or not _is_nobodys(words[5:]):
                start = end  # of a file, or the stack
        elif words[0] == "Rss:" and start < end and 2 * 1024 * int(words[1]) > end - start:
            if ranges and ranges[-1][1] == start:
                start = ranges.pop()[0]
            ranges.append((start, end))
    return ranges


def _is_nobodys(name: list[str]) -> bool:
    """Return True if the range is not of a file or a stack."""
    return not name or name[0] == "[heap]" or name[0].startswith("[anon")

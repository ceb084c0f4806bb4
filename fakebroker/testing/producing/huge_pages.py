"""Huge pages for a process that has much in memory and looks at little of it at a time, as a long simulation does.

Theory   A simulation of a thousand producers comes to each of them every half a minute: nearly all that it looks at has
         fallen out of the processor's caches, and out of its table of where pages are, too. With pages of 2 MiB instead
         of 4 KiB the table suffices. Python gets its memory in pieces of 1 MiB that lie beside each other; the kernel
         makes huge pages of them when it is asked. What comes later has small pages again: ask now and then.
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
    """How many bytes of what this process has in memory are in huge pages now. 0 where none are to be had: another
    system than Linux, one before 6.1, or one that is told not to give any. It changes nothing but
    speed, and memory: what was not there of a page is there then, at most as much again."""
    if sys.platform != "linux":
        return 0
    try:
        page = int(_SIZE_FILE.read_text())
        ranges = own_ranges(_MAPS_FILE.read_text().splitlines())
    except OSError:  # it has none, or does not say
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
    """Where the process has memory of its own that is written and mostly there: first address, and that behind the
    last. What lies side by side is one."""
    found: list[tuple[int, int]] = []
    start = end = 0
    for line in smaps:
        words = line.split()
        if not words[0].endswith(":"):
            start, end = (int(address, 16) for address in words[0].split("-"))
            if words[1] != "rw-p" or not _is_nobodys(words[5:]):
                start = end  # a file's, or the stack
        elif words[0] == "Rss:" and start < end and 2 * 1024 * int(words[1]) > end - start:
            if found and found[-1][1] == start:
                start = found.pop()[0]
            found.append((start, end))
    return found


def _is_nobodys(name: list[str]) -> bool:
    """No file's, nor a stack."""
    return not name or name[0] == "[heap]" or name[0].startswith("[anon")

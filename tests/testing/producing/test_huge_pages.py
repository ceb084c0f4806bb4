"""Memory in huge pages: which it is, and that the kernel has given some where it can."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from fakebroker.testing.producing.huge_pages import ask_for_huge_pages, own_ranges

_SWITCH = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_ROLLUP = Path("/proc/self/smaps_rollup")
# What is asked for before is there already; 80 MB of small things are for sure many pages of 2 MiB.
_PROGRAM = f"""
from pathlib import Path
from fakebroker.testing.producing.huge_pages import ask_for_huge_pages
def in_huge_pages():
    lines = Path("{_ROLLUP}").read_text().splitlines()
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("AnonHugePages:"))
things = [bytes([at % 256]) * 100 for at in range(600_000)]
before = in_huge_pages()
given = ask_for_huge_pages()
assert things[77] == b"M" * 100 and len(set(map(len, things))) == 1
print(before, given, in_huge_pages(), ask_for_huge_pages())
"""


def _area(addresses: str, rights: str, name: str, rss_kb: int) -> list[str]:
    return [f"{addresses} {rights} 00000000 00:00 0   {name}", "Size: 4 kB", f"Rss: {rss_kb} kB", "VmFlags: rd wr mr"]


def test_what_a_process_has_of_its_own_is_found() -> None:
    smaps = [
        *_area("10000-30000", "rw-p", "[heap]", 128),
        *_area("40000-50000", "r-xp", "/usr/lib/libc.so.6", 64),
        *_area("50000-60000", "rw-p", "/usr/lib/libc.so.6", 64),
        *_area("70000-80000", "rw-s", "", 64),
        *_area("80000-90000", "r--p", "", 64),
        *_area("90000-a0000", "rw-p", "[anon:pymalloc]", 64),
        *_area("b0000-c0000", "rw-p", "[stack]", 64),
    ]
    assert own_ranges(smaps) == [(0x10000, 0x30000), (0x90000, 0xA0000)]


def test_what_lies_side_by_side_is_one() -> None:
    smaps = [*_area("10000-20000", "rw-p", "", 64), *_area("20000-30000", "rw-p", "", 64)]
    assert own_ranges([*smaps, *_area("31000-32000", "rw-p", "", 4)]) == [(0x10000, 0x30000), (0x31000, 0x32000)]


def test_what_is_mostly_not_in_memory_is_left_alone() -> None:
    """A thread's stack: to have all of it in memory would cost more than it brings."""
    smaps = [*_area("10000-20000", "rw-p", "", 32), *_area("20000-30000", "rw-p", "", 33)]
    assert own_ranges(smaps) == [(0x20000, 0x30000)]


@pytest.mark.skipif(sys.platform != "linux", reason="pages are Linux's")
def test_the_kernel_gives_huge_pages() -> None:
    if not _SWITCH.exists() or "[never]" in _SWITCH.read_text():
        pytest.skip("this kernel gives no huge pages")
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    before, given, after, again = map(int, done.stdout.split())
    if given == 0 and _kernel() < (6, 1):
        pytest.skip("this kernel gives huge pages to new memory only")
    assert before < after
    # Of 80 MB. How much is where a page of 2 MiB can be depends on where the kernel put the pieces: 40 to 60 were seen.
    assert min(given, after, again) > 10_000_000


def _kernel() -> tuple[int, ...]:
    return tuple(int(number) for number in platform.release().split("-")[0].split(".")[:2])


def test_elsewhere_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert ask_for_huge_pages() == 0

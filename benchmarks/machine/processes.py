"""Memory and CPU time of a process, as Linux counts them."""

from __future__ import annotations

import os
import re
from pathlib import Path


def peak_mb(pid: int) -> float:
    """Return the most resident memory that a process has had. (`ru_maxrss` also has that of its parent.)"""
    match = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    return int(match[1]) / 1024 if match else 0.0


def cpu_s(pid: int) -> float:
    """Return the CPU time of a process and its ended threads, in seconds."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

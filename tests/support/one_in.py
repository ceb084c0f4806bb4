"""A part of the tests that take long, for a run that is to take minutes: `make test ONE_IN=4`, as CI does.

Theory   Which ones follows from the code: others are drawn with each change, the same for the same code, so what is red
         is red again. What does not take long always runs, and without FAKEBROKER_ONE_IN everything does.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from zlib import crc32

TAKES_LONG = ("slow", "spark", "clients")  # markers
_CODE = ("fakebroker", "timingwheel", "load", "conformance", "tests")


def is_drawn(name: str, salt: int, one_in: int) -> bool:
    return int.from_bytes(blake2b(name.encode(), digest_size=4, salt=salt.to_bytes(4)).digest()) % one_in == 0


def code_digest(root: Path = Path(__file__).parents[2], folders: Iterable[str] = _CODE) -> int:
    """Of all that a test may be about: our own Python files, and where they are."""
    found = 0
    for folder in folders:
        for path in sorted((root / folder).rglob("*.py")):
            found = crc32(path.read_bytes(), crc32(str(path.relative_to(root)).encode(), found))
    return found

"""Sample the cases, for a run that is to take minutes.

Theory   `make test` replays Kafka's responses to every case (tests/golden). So for an unchanged case a live run can
         only show that Kafka responds as it did. A sample asks again for some of the cases: others with each change of
         the code, the same for the same code. It also has all cases for which no response to their present form is
         kept. In some boxes a case alters the state for the cases behind it: such a box is whole or left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from zlib import crc32

from conformance.scenario import Case
from conformance.transcripts.golden import Golden, digest

_CODE = ("fakebroker", "timingwheel", "conformance")
_WHOLE_BOXES = ("configs", "quotas")


def code_digest(root: Path = Path(__file__).parents[1]) -> int:
    """Return a digest of all our Python files and their paths."""
    crc = 0
    for folder in _CODE:
        for path in sorted((root / folder).rglob("*.py")):
            crc = crc32(path.read_bytes(), crc32(str(path.relative_to(root)).encode(), crc))
    return crc


def is_chosen(case: Case, one_in: int, salt: int) -> bool:
    """Return True if a case is in a sample of one in so many."""
    name = case.box if case.box in _WHOLE_BOXES else case.name
    return int.from_bytes(blake2b(name.encode(), digest_size=4, salt=salt.to_bytes(4)).digest()) % one_in == 0


def sample(cases: Sequence[Case], kept: Iterable[Golden], one_in: int, salt: int) -> list[Case]:
    """About one in so many of the cases, and all of which Kafka was not asked as they are."""
    digests = {golden.case: golden.digest for golden in kept}
    return [case for case in cases if is_chosen(case, one_in, salt) or digests.get(case.name) != digest(case)]

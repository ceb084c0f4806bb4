"""A part of everything: which cases, for a run that is to take minutes.

Theory   `make test` replays what Kafka has answered to every case (tests/golden), so of a case that has not changed a
         live run can only show that Kafka answers as it did. A sample asks again for some of them, others with each
         change of the code, the same for the same code; and for all to which the answer that is kept does not belong.
         What cases alter for all others of their box, those that come later feel; so such a box is whole or left out.
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
    """Of all our Python files and where they are."""
    found = 0
    for folder in _CODE:
        for path in sorted((root / folder).rglob("*.py")):
            found = crc32(path.read_bytes(), crc32(str(path.relative_to(root)).encode(), found))
    return found


def is_chosen(case: Case, one_in: int, salt: int) -> bool:
    """Whether a case is one of so many."""
    name = case.box if case.box in _WHOLE_BOXES else case.name
    return int.from_bytes(blake2b(name.encode(), digest_size=4, salt=salt.to_bytes(4)).digest()) % one_in == 0


def sample(cases: Sequence[Case], kept: Iterable[Golden], one_in: int, salt: int) -> list[Case]:
    """About one in so many of the cases, and all of which Kafka was not asked as they are."""
    digests = {each.case: each.digest for each in kept}
    return [case for case in cases if is_chosen(case, one_in, salt) or digests.get(case.name) != digest(case)]

"""What may come of a request, by name: an error of Kafka's, "no answer", "unknown", or another outcome.

Theory   Where an answer is lost its client knows nothing: "unknown" is right then, and the log has to tell the rest
         (`written`). It is no "no answer", which is what acks=0 gets from a broker that is well.
"""

from __future__ import annotations

from typing import Final

from fakebroker.protocol.error_code import error_from_name

NO_ANSWER: Final = "no answer"
# By the name in a scenario: what stands in the column `outcome` of a row.
OUTCOMES: Final[dict[str, tuple[str, ...]]] = {
    "unknown": ("no answer", "closed", "expired in flight"),
    "expired": ("expired",),
    "expired in flight": ("expired in flight",),
    "refused": ("refused",),
    "closed": ("closed",),
    "not sent": ("not sent",),
}


def code_of(name: str) -> int | None:
    """The error's code; None for what is no error. Raises ValueError if there is nothing of that name."""
    return None if name == NO_ANSWER or name in OUTCOMES else int(error_from_name(name))


def answers_of(name: str) -> tuple[str, ...]:
    """The error's code, or the outcomes, as text. Raises ValueError if there is nothing of that name."""
    return OUTCOMES[name] if name in OUTCOMES else (str(int(error_from_name(name))),)

"""The answers to a request, by name: a Kafka error, "no answer", "unknown", or another outcome.

Theory   If a response is lost, the client knows nothing. Then "unknown" is right, and the log must show the rest
         (`written`). "no answer" is what acks=0 gets from a healthy broker.
"""

from __future__ import annotations

from typing import Final

from fakebroker.protocol.error_code import error_from_name

NO_ANSWER: Final = "no answer"
# By the name in a scenario: the values of the column `outcome`.
OUTCOMES: Final[dict[str, tuple[str, ...]]] = {
    "unknown": ("no answer", "closed", "expired in flight"),
    "expired": ("expired",),
    "expired in flight": ("expired in flight",),
    "refused": ("refused",),
    "closed": ("closed",),
    "not sent": ("not sent",),
}


def code_of(name: str) -> int | None:
    """Return the error's code; None for an outcome. Raises ValueError for an unknown name."""
    return None if name == NO_ANSWER or name in OUTCOMES else int(error_from_name(name))


def answers_of(name: str) -> tuple[str, ...]:
    """Return the error's code, or the outcomes, as text. Raises ValueError for an unknown name."""
    return OUTCOMES[name] if name in OUTCOMES else (str(int(error_from_name(name))),)

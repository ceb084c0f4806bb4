"""UnregisterBroker for unknown brokers. A known one would be missing in the cases that follow."""

from __future__ import annotations

from conformance.frames import request
from conformance.scenario import Case, Send, Settle

_KEY = 64

CASES: list[Case] = [
    Case(
        "unregister-broker/unknown",
        "a broker that is not registered: BROKER_ID_NOT_REGISTERED",
        (
            Send(
                tuple(
                    request(_KEY, 0, {"broker_id": broker_id}, number)
                    for number, broker_id in enumerate((9, -1, 0, 2**31 - 1), 1)
                )
            ),
            Settle(),
        ),
    ),
]

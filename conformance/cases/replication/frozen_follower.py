"""A follower that is frozen: what acks=all is answered, and when."""

from __future__ import annotations

from conformance.frames import batch, produce
from conformance.scenario import At, Case, Freeze, Pause, ReadLog, Send, Settle, Thaw, Topic

_WARM = produce("frozen-basic", batch(b"before"), correlation_id=100)

CASES = [
    Case(
        "frozen/times-out",
        "REQUEST_TIMED_OUT has the real base offset and comes T after the request; the record stays in the log "
        "(DelayedProduce)",
        (
            Send((_WARM,)),
            Settle(),
            Freeze(3),
            Send((produce("frozen-basic", batch(b"late"), timeout_ms=500, correlation_id=1),)),
            Settle(),
            Thaw(3),
            ReadLog("frozen-basic"),
        ),
        (Topic("frozen-basic", replicas=3),),
        box="three",
        timed=(At(1, 500),),
    ),
    Case(
        "frozen/t-2t-3t",
        "three pipelined requests on one connection get responses at T, 2T and 3T: one at a time (SocketServer)",
        (
            Send((produce("frozen-three", batch(b"before"), correlation_id=100),)),
            Settle(),
            Freeze(3),
            Send(
                tuple(
                    produce("frozen-three", batch(b"late"), timeout_ms=300, correlation_id=number)
                    for number in (1, 2, 3)
                )
            ),
            Pause(0),
            Settle(),
            Thaw(3),
            ReadLog("frozen-three"),
        ),
        (Topic("frozen-three", replicas=3),),
        box="three",
        timed=(At(1, 300), At(2, 600), At(3, 900)),
    ),
]

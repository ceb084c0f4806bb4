"""The points of a request at which a fault can be, in their order.

Theory   connect          a client has connected; nothing is read yet
         request_read     a request is read, its header understood
         before_work      its body is understood; nothing is done
         after_append     it is appended to the leader's log (by whoever appends for it); followers may not have it
                          yet, and nobody was told
         after_watermark  the in-sync replicas have it, and nobody was told; acks=all alone gets there
         before_answer    all is done and the answer is made; nothing is written
         within_answer    the same, and the bytes of the answer are in hand
         after_answer     the answer is handed to the socket

         What an action changes at a point holds before anything else happens. No action runs inside the work of a
         handler: the answer that the handler gave waits until they have run (cluster/faults).
"""

from __future__ import annotations

from typing import Final

CONNECT: Final = "connect"
REQUEST_READ: Final = "request_read"
BEFORE_WORK: Final = "before_work"
AFTER_APPEND: Final = "after_append"
AFTER_WATERMARK: Final = "after_watermark"
BEFORE_ANSWER: Final = "before_answer"
WITHIN_ANSWER: Final = "within_answer"
AFTER_ANSWER: Final = "after_answer"

POINTS: Final = (
    CONNECT,
    REQUEST_READ,
    BEFORE_WORK,
    AFTER_APPEND,
    AFTER_WATERMARK,
    BEFORE_ANSWER,
    WITHIN_ANSWER,
    AFTER_ANSWER,
)
AFTER_WORK: Final = (AFTER_APPEND, AFTER_WATERMARK, BEFORE_ANSWER)  # the answer can still be another one

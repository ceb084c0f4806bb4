"""The points of a request at which a fault can fire, in their order.

Theory   connect          a client has connected; nothing is read yet
         request_read     a request is read, and its header is decoded
         before_work      its body is decoded; nothing is done
         after_append     its records are in the leader's log, whichever broker appends them; followers may lack them,
                          and there is no response yet
         after_watermark  the in-sync replicas have them, and there is no response yet; for acks=all only
         before_answer    all is done and the response is built; nothing is written
         within_answer    the response is encoded to bytes
         after_answer     the response is handed to the socket

         A change by an action holds before anything else happens. No action runs inside the work of a handler: the
         response of the handler waits until the actions have run (cluster/faults).
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
AFTER_WORK: Final = (AFTER_APPEND, AFTER_WATERMARK, BEFORE_ANSWER)  # the response can still be changed

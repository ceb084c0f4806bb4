"""The content of a raw request: its topics and partitions, and its batches, which are those of real producers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fakebroker.protocol.compression import Codec
from fakebroker_load.scenario.answers import NO_ANSWER, code_of
from fakebroker_load.scenario.senders import RAW

CODECS: Mapping[str, Codec] = {codec.name.lower(): codec for codec in Codec}
NO_COMPRESSION = "none"
COMMIT, ABORT = ENDS = ("commit", "abort")
OF_BATCHES = (
    *("beside", "partitions_per_request", "records_per_batch", "compression", "headers", "idempotent"),
    "transaction",
)


def parse_beside(data: object) -> dict[str, str]:
    """Return `beside`. Raises ValueError with the rest of a sentence about the group."""
    if not isinstance(data, Mapping) or not all(isinstance(text, str) for text in (*data, *data.values())):
        raise ValueError(f"has beside = {data!r}; it is a mapping of topics to answers, as in {{payments: NONE}}")
    return dict(data)


def slips_of_batches(group: Any) -> Iterator[tuple[str, str]]:
    """Yield the mistakes of a RequestGroup (model.py): the key, and the rest of a sentence about the group."""
    if group.compression not in CODECS:
        yield "compression", f"has compression {group.compression!r}, which is {' or '.join(CODECS)}"
    if group.topic in group.beside:
        yield "beside", f"has its own topic {group.topic!r} beside itself"
    for topic, name in group.beside.items():
        try:
            is_error = code_of(name) is not None
        except ValueError:
            yield "beside", f"expects an error of {topic!r} that Kafka does not have: {name}"
        else:
            if is_error != (group.acks != 0) or (not is_error and name != NO_ANSWER):
                yield "beside", f"expects {name!r} of {topic!r}, and {group.expect!r} of {group.topic!r}"
    if group.partitions_per_request > group.partitions:
        yield (
            "partitions_per_request",
            f"has {group.partitions_per_request} partitions in a request, of {group.partitions}",
        )
    if group.idempotent and group.acks != -1:
        yield "idempotent", f"is idempotent, and that takes acks -1, not {group.acks}"
    if group.transaction not in (None, *ENDS):
        yield "transaction", f"has transaction {group.transaction!r}, which is {' or '.join(ENDS)}"
    if group.transaction is not None and (group.acks, group.idempotent, group.written) != (-1, False, None):
        yield "transaction", "sends in transactions, and that takes acks -1, and neither idempotent nor written"
    if group.client != RAW:
        plain = {"beside": {}, "partitions_per_request": 1, "records_per_batch": 1, "compression": NO_COMPRESSION}
        plain["transaction"] = None
        for name in OF_BATCHES:
            if getattr(group, name) != plain.get(name, False):
                yield name, f"is a {group.client}, and only raw requests have {name}"

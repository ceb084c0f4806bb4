"""Good Produce requests: every version, every acks, every codec; what is answered and what is stored."""

from __future__ import annotations

from conformance.frames import batch, produce
from conformance.scenario import Case, ReadLog, Send, Settle, Topic

_CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


def _every_version() -> list[Case]:
    cases = []
    for version in range(3, 14):
        topic = Topic(f"good-v{version}")
        name = topic.placeholder if version >= 13 else topic.name
        frames = tuple(
            produce(name, batch(b"one", b"two"), version=version, acks=acks, correlation_id=number)
            for number, acks in enumerate((-1, 1, 0, -1), 1)
        )
        cases.append(
            Case(
                f"produce-good/v{version}",
                "acks -1, 1, 0 and -1 on one connection: three responses in order, eight records stored",
                (Send(frames), Settle(), ReadLog(topic.name)),
                (topic,),
            )
        )
    return cases


def _every_codec() -> list[Case]:
    cases = []
    for codec, number in _CODECS.items():
        topic = Topic(f"good-{codec}")
        frames = (produce(topic.name, batch(b"x" * 500, b"y" * 500, codec=number)),)
        cases.append(
            Case(
                f"produce-good/{codec}",
                "a compressed batch is validated, and stored as sent",
                (Send(frames), Settle(), ReadLog(topic.name)),
                (topic,),
            )
        )
    return cases


CASES = _every_version() + _every_codec()

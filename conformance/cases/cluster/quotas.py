"""Quotas: what throttle_time_ms the answer tells, and when the connection is read again."""

from __future__ import annotations

from conformance.frames import batch, end_offset, fetch, produce
from conformance.scenario import At, Case, Listen, Pause, ReadLog, Send, SetQuota, Settle, Topic

_RATE = 2_000.0  # bytes per second
_WINDOW_S = 10  # that a first request is judged by: ten windows of a second
_APPLIED_MS = 250  # until a quota that was set holds at the broker
_MUTE_MS = 500
_AT_ONCE_MS = 450  # less than the mute, and enough for a busy machine
_SLACK_MS = 1_000
_TINY = 0.000_01  # per cent of a handler thread: any request is above it for longer than the cap
_CAP_MS = 1_000  # of a throttle for request_percentage: one window


def _throttled_frame(
    topic: str, client_id: str, throttle_ms: int, number: int, *, acks: int = -1, version: int = 9
) -> bytes:
    """A first request that is throttled for so long: its size decides."""
    size = round(_RATE * (_WINDOW_S + throttle_ms / 1000))
    for length in range(size - 200, size):
        frame = produce(
            topic, batch(b"x" * length), acks=acks, version=version, correlation_id=number, client_id=client_id
        )
        if len(frame) - 4 >= size:
            return frame
    raise AssertionError(f"no request of {size} bytes")


def _byte_rate(version: int) -> Case:
    topic = Topic(f"quota-v{version}")
    client = topic.name
    frames = (
        _throttled_frame(topic.name, client, _MUTE_MS, 1, version=version),
        end_offset(topic.name, correlation_id=2),
        fetch(topic.name, 1, correlation_id=3),
    )
    why = "the response comes at once with the throttle time; the next request is handled after the mute"
    steps = (SetQuota(client, {"producer_byte_rate": _RATE}), Pause(_APPLIED_MS), Send(frames), Settle())
    return Case(
        f"quota/v{version}",
        why,
        steps,
        (topic,),
        timed=(At(1, 0, _AT_ONCE_MS), At(2, _MUTE_MS, _SLACK_MS), At(3, _MUTE_MS, _SLACK_MS)),
    )


def _two_in_a_row() -> Case:
    topic = Topic("quota-twice")
    frames = (
        _throttled_frame(topic.name, topic.name, _MUTE_MS, 1),
        produce(topic.name, batch(b"y" * 1_400), correlation_id=2, client_id=topic.name),
        end_offset(topic.name, correlation_id=3),
    )
    until_ms = round(sum(len(frame) - 4 for frame in frames[:2]) / _RATE * 1000) - _WINDOW_S * 1000
    why = "both requests count: after the mute of the first one the rate is at the quota, and the second one exceeds it"
    steps = (SetQuota(topic.name, {"producer_byte_rate": _RATE}), Pause(_APPLIED_MS), Send(frames), Settle())
    timed = (
        At(1, 0, _AT_ONCE_MS),
        At(2, _MUTE_MS, _SLACK_MS),
        At(3, until_ms - 1, _SLACK_MS),
    )  # both throttle times are rounded
    return Case("quota/two-in-a-row", why, steps, (topic,), timed=timed)


def _acks_0() -> Case:
    topic = Topic("quota-acks-0")
    frames = (
        _throttled_frame(topic.name, topic.name, _MUTE_MS, 1, acks=0),
        end_offset(topic.name, correlation_id=2),
    )
    why = "acks=0 gets no response, and its bytes mute the connection"
    steps = (
        SetQuota(topic.name, {"producer_byte_rate": _RATE}),
        Pause(_APPLIED_MS),
        Send(frames),
        Settle(),
        ReadLog(topic.name),
    )
    return Case("quota/acks-0", why, steps, (topic,), timed=(At(2, _MUTE_MS, _SLACK_MS),))


def _below() -> Case:
    topic = Topic("quota-below")
    frames = tuple(produce(topic.name, batch(b"x"), correlation_id=n, client_id=topic.name) for n in (1, 2, 3))
    why = "below the quota nothing is throttled"
    steps = (SetQuota(topic.name, {"producer_byte_rate": _RATE}), Pause(_APPLIED_MS), Send(frames), Settle())
    return Case(
        "quota/below", why, steps, (topic,), timed=(At(1, 0, _AT_ONCE_MS), At(2, 0, _AT_ONCE_MS), At(3, 0, _AT_ONCE_MS))
    )


def _others() -> Case:
    topic = Topic("quota-others")
    frame = _throttled_frame(topic.name, topic.name, _MUTE_MS, 1)
    steps = (
        SetQuota(topic.name, {"producer_byte_rate": _RATE}),
        Pause(_APPLIED_MS),
        Send((frame,)),
        Listen(150),  # for the first answer: it is muted for longer
        Send((produce(topic.name, batch(b"y"), client_id="quota-nobody"),), "other"),
        Settle("other"),
        Settle(),
    )
    why = "the mute is for one connection; other client ids have no quota"
    return Case("quota/others", why, steps, (topic,), timed=(At(1, 0, _AT_ONCE_MS), At(1, 0, _AT_ONCE_MS, "other")))


def _second_connection() -> Case:
    topic = Topic("quota-second")
    steps = (
        SetQuota(topic.name, {"producer_byte_rate": _RATE}),
        Pause(_APPLIED_MS),
        Send((_throttled_frame(topic.name, topic.name, _MUTE_MS, 1),)),
        Listen(250),  # for the first answer
        Send((produce(topic.name, batch(b"y" * 1_400), client_id=topic.name),), "second"),
        Listen(250, "second"),
    )
    why = "a second connection of the same client id: response at once, and both count"
    return Case(
        "quota/second-connection", why, steps, (topic,), timed=(At(1, 0, _AT_ONCE_MS), At(1, 0, _AT_ONCE_MS, "second"))
    )


def _failed_produce() -> Case:
    topic = Topic("quota-failed")
    size = round(_RATE * (_WINDOW_S + _MUTE_MS / 1000))
    records = batch(b"x" * (size - 200))
    frames = (
        produce("quota-nowhere", records, correlation_id=1, client_id=topic.name),
        end_offset(topic.name, correlation_id=2),
        produce(topic.name, batch(b"y" * 1_400), correlation_id=3, client_id=topic.name),
        end_offset(topic.name, correlation_id=4),
    )
    why = "the bytes of refused batches count too"
    steps = (SetQuota(topic.name, {"producer_byte_rate": _RATE}), Pause(_APPLIED_MS), Send(frames), Settle())
    return Case("quota/refused", why, steps, (topic,))


def _request_percentage(name: str, why: str, frame: bytes, topic: Topic, *timed: At, both: bool = False) -> Case:
    quotas = {"request_percentage": _TINY} | ({"producer_byte_rate": _RATE} if both else {})
    steps = (
        SetQuota(topic.name, quotas),
        Pause(_APPLIED_MS),
        Send((frame, end_offset(topic.name, correlation_id=2))),
        Settle(),
    )
    return Case(f"quota/{name}", why, steps, (topic,), timed=timed)


_TIME, _NO_TIME, _BOTH = Topic("quota-time"), Topic("quota-no-time"), Topic("quota-both")

CASES = [
    *(_byte_rate(version) for version in (3, 5, 9, 10)),
    _two_in_a_row(),
    _acks_0(),
    _below(),
    _others(),
    _second_connection(),
    _failed_produce(),
    _request_percentage(
        "request-percentage",
        "any request exceeds a very small request_percentage: throttled for one window, the maximum",
        produce(_TIME.name, batch(b"x"), client_id=_TIME.name),
        _TIME,
        At(1, 0, _AT_ONCE_MS),
        At(2, _CAP_MS, _SLACK_MS),
    ),
    _request_percentage(
        "request-percentage-acks-0",
        "acks=0 is exempt from request_percentage",
        produce(_NO_TIME.name, batch(b"x"), acks=0, client_id=_NO_TIME.name),
        _NO_TIME,
        At(2, 0, _AT_ONCE_MS),
    ),
    _request_percentage(
        "both",
        "two throttle times: the longer one counts",
        _throttled_frame(_BOTH.name, _BOTH.name, 1_300, 1),
        _BOTH,
        At(1, 0, _AT_ONCE_MS),
        At(2, 1_300, _SLACK_MS),
        both=True,
    ),
]

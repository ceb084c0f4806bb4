"""Clients that push metrics of their own: what each is told to push, and what of a push is refused."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from conformance.config_frames import CLIENT_METRICS, DELETE, SET, Operation, incremental
from conformance.frames import API_VERSIONS, request
from conformance.scenario import Case, CatchUp, Disconnect, Pause, Send, Settle, Step
from fakebroker.core.config.subscription_id import compute_subscription_id
from fakebroker.protocol.compression import compress

_GET, _PUSH = 71, 72
_KNOWN_MS = 250  # until a broker knows of a subscription, or of a connection that is closed
_DEFAULT_MS = 300_000


def _id(number: int) -> UUID:
    return UUID(int=0xC11E_0000_0000_4000_8000_0000_0000_0000 + number)


def _get(number: int, instance: UUID | None, client: str) -> bytes:
    return request(_GET, 0, {"client_instance_id": instance}, number, client)


def _push(number: int, instance: UUID | None, client: str, subscription: int = 0, **values: Any) -> bytes:
    defaults = {
        "client_instance_id": instance,
        "subscription_id": subscription,
        "terminating": False,
        "compression_type": 0,
        "metrics": b"",
    }
    return request(_PUSH, 0, defaults | values, number, client)


def _nothing(instance: UUID) -> int:
    """Return the subscription id of a client that has nothing to push."""
    return compute_subscription_id([], _DEFAULT_MS, instance)


def _each(*frames: bytes, conn: str = "a") -> tuple[Step, ...]:
    return tuple(step for frame in frames for step in (Send((frame,), conn), Settle(conn)))


def _subscribed(name: str, **configs: str) -> tuple[Step, ...]:
    operations: list[Operation] = [(key.replace("_", "."), SET, value) for key, value in configs.items()]
    frame = incremental((CLIENT_METRICS, name, operations), correlation_id=900)
    return Send((frame,), "admin"), Settle("admin"), CatchUp(), Pause(_KNOWN_MS)


def _forgotten(*names: str) -> tuple[Step, ...]:
    operations: list[Operation] = [(key, DELETE, None) for key in ("metrics", "interval.ms", "match")]
    frames = tuple(incremental((CLIENT_METRICS, name, operations), correlation_id=950) for name in names)
    return *_each(*frames, conn="admin"), CatchUp(), Pause(_KNOWN_MS)


def _case(name: str, why: str, *steps: Step) -> Case:
    return Case(f"telemetry/{name}", f"{why} (ClientMetricsManager)", steps, box="configs")


def _matching(name: str, why: str, number: int, *subscriptions: dict[str, str]) -> Case:
    client, names = f"telemetry-{name}", [f"telemetry-{name}-{n}" for n in range(len(subscriptions))]
    software = request(
        API_VERSIONS, 3, {"client_software_name": "apache-kafka-x", "client_software_version": "4.4.0"}, 1, client
    )
    return _case(
        name,
        why,
        *(
            step
            for subscriber, configs in zip(names, subscriptions, strict=True)
            for step in _subscribed(subscriber, **configs)
        ),
        Send((software, _get(2, _id(number), client))),  # what is asked in between may forget the software
        Settle(),
        *_forgotten(*names),
    )


def _mine(name: str) -> str:
    return f"client_id=telemetry-{name}"


CASES: list[Case] = [
    _case(
        "nothing",
        "without a subscription there is nothing to push; repeated requests are too early, except one push and "
        "the terminating one",
        *_each(
            _get(1, _id(1), "telemetry"),
            _get(2, _id(1), "telemetry"),
            _push(3, _id(1), "telemetry", _nothing(_id(1)), metrics=b"no protobuf"),
            _push(4, _id(1), "telemetry", _nothing(_id(1))),
            _push(5, _id(1), "telemetry", _nothing(_id(1)), terminating=True),
            _push(6, _id(1), "telemetry", _nothing(_id(1))),
            _push(7, _id(1), "telemetry", _nothing(_id(1))),
            _get(8, _id(1), "telemetry"),
        ),
    ),
    _case(
        "unknown-subscription",
        "a push with another subscription id; then the client may get a subscription at once",
        *_each(
            _push(1, _id(2), "telemetry", 5),
            _get(2, _id(2), "telemetry"),
            _get(3, _id(2), "telemetry"),
            _push(4, _id(2), "telemetry", _nothing(_id(2))),
            _get(5, _id(2), "telemetry"),
        ),
    ),
    _case(
        "compression",
        "supported codecs, and unsupported ones, after which the client may get a subscription at once; the "
        "content is not read",
        *_each(
            *(
                _push(
                    codec,
                    _id(40 + codec),
                    "telemetry",
                    _nothing(_id(40 + codec)),
                    compression_type=codec,
                    metrics=compress(codec, b"neither of them" * 9),
                )
                for codec in (1, 2, 3, 4)
            ),
            *(
                frame
                for number, codec in enumerate((0, 1, 2, 3, 4, 5, -1))
                for frame in (
                    _push(
                        10 + number,
                        _id(10 + number),
                        "telemetry",
                        _nothing(_id(10 + number)),
                        compression_type=codec,
                        metrics=b"neither of them",
                    ),
                    _get(20 + number, _id(10 + number), "telemetry"),
                )
            ),
        ),
    ),
    _case(
        "reserved",
        "reserved client instance ids",
        *_each(
            _push(1, None, "telemetry"),
            _push(2, UUID(int=1), "telemetry"),
            _get(3, UUID(int=1), "telemetry"),
        ),
    ),
    _case("new-id", "a client without an instance id gets one", *_each(_get(1, None, "telemetry"))),
    _case(
        "too-large",
        "more than telemetry.max.bytes, and exactly as many",
        *_each(
            _push(1, _id(3), "telemetry", _nothing(_id(3)), metrics=bytes((1 << 20) + 1)),
            _push(2, _id(4), "telemetry", _nothing(_id(4)), metrics=bytes(1 << 20)),
        ),
    ),
    _case(
        "connections",
        "a client instance is known on another connection; it is forgotten when its own connection closes",
        *_each(_get(1, _id(5), "telemetry")),
        *_each(_get(2, _id(5), "telemetry"), conn="b"),
        Disconnect(),
        Pause(_KNOWN_MS),
        *_each(_get(3, _id(5), "telemetry"), conn="b"),
        *_each(_get(4, _id(5), "telemetry"), conn="b"),
    ),
    _case(
        "two-instances",
        "two instances on one connection: the last one is forgotten when it closes",
        *_each(_get(1, _id(6), "telemetry"), _get(2, _id(7), "telemetry")),
        Disconnect(),
        Pause(_KNOWN_MS),
        *_each(_get(3, _id(6), "telemetry"), _get(4, _id(7), "telemetry"), conn="b"),
    ),
    _case(
        "altered",
        "after a subscription has changed the client may get it at once, and its id is another",
        *_each(_get(1, _id(8), "telemetry-altered")),
        *_subscribed("telemetry-altered", metrics="a.", match=_mine("altered"), interval_ms="5000"),
        *_each(
            _push(2, _id(8), "telemetry-altered", _nothing(_id(8))),
            _get(3, _id(8), "telemetry-altered"),
            _push(4, _id(8), "telemetry-altered", compute_subscription_id(["a."], 5_000, _id(8))),
            _push(5, _id(8), "telemetry-altered", compute_subscription_id(["a."], 5_000, _id(8))),
        ),
        *_forgotten("telemetry-altered"),
    ),
    _case(
        "interval",
        "after the interval the client may push again, and get the subscription",
        *_subscribed("telemetry-interval", metrics="a.", match=_mine("interval"), interval_ms="300"),
        *_each(_get(1, _id(9), "telemetry-interval")),
        Pause(400),
        *_each(_get(2, _id(9), "telemetry-interval")),
        *_each(_push(3, _id(9), "telemetry-interval", compute_subscription_id(["a."], 300, _id(9)))),
        Pause(400),
        *_each(_push(4, _id(9), "telemetry-interval", compute_subscription_id(["a."], 300, _id(9)))),
        *_forgotten("telemetry-interval"),
    ),
    _matching(
        "two",
        "two subscriptions: the metrics of both, at the shorter interval",
        30,
        {"metrics": "org.apache.kafka.producer.,b,c", "interval_ms": "60000", "match": _mine("two")},
        {"metrics": "c,d.e,org.apache.kafka.consumer.", "interval_ms": "70000", "match": _mine("two")},
    ),
    _matching(
        "all",
        "a subscription to all metrics replaces the others",
        31,
        {"metrics": "a,b", "match": _mine("all")},
        {"metrics": "*", "interval_ms": "400000", "match": _mine("all")},
    ),
    _matching(
        "software",
        "a match by the client's software name and version, from ApiVersions",
        32,
        {"metrics": "yes", "match": f"{_mine('software')},client_software_name=apache-.*"},
        {"metrics": "no", "match": f"{_mine('software')},client_software_version=4"},
        {"metrics": "version", "match": f"{_mine('software')},client_software_version=4.*"},
    ),
    _matching(
        "address",
        "a match by the client's address, and by its client id",
        33,
        {"metrics": "address", "match": f"{_mine('address')},client_source_address=127.0.0.1"},
        {"metrics": "id", "match": f"{_mine('address')},client_instance_id=[A-Za-z0-9_-]{{22}}"},
        {"metrics": "part", "match": "client_id=telemetry-addres"},
    ),
    _matching(
        "interval-alone",
        "a subscription without metrics, but with an interval",
        34,
        {"interval_ms": "1000", "match": _mine("interval-alone")},
    ),
    _case(
        "unknown-software",
        "a client without ApiVersions has an unknown software name",
        *_subscribed("telemetry-unknown", metrics="m", match=f"{_mine('unknown')},client_software_name=unknown"),
        *_each(_get(1, _id(35), "telemetry-unknown")),
        *_forgotten("telemetry-unknown"),
    ),
]

"""The options of a cluster, each defined once: its name and type, its default, and its shape in other places.

Shape    The command line of `serve` is made from these fields. A test (test_spec.py) compares the constructors, the
         schema of scenarios, the body of POST clusters and the pytest marker with them.
         `Arguments.read` checks the values, wherever they come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from os import PathLike
from typing import Any

from fakebroker.core.journal.size import DEFAULT_SIZE
from fakebroker.server.made.listener_texts import FORM
from fakebroker.server.made.option_texts import (
    ACL_FORM,
    FEATURE_FORM,
    RACK_FORM,
    USER_FORM,
    file_name,
    parse_acl,
    parse_broker_ids,
    parse_feature,
    parse_rack,
    parse_setting,
    parse_user,
    whole_number,
)

SCENARIO, CONTROL, MARKER = "scenario", "control", "marker"
_EVERYWHERE = (SCENARIO, CONTROL, MARKER)
_PORT_MOST = 65535
PORT_OF_SERVE = 9092


@dataclass(frozen=True)
class Option:
    """An option of a cluster, beside its Python name, type and default.

    help, metavar   of `serve`, which does not have the option if there is no help
    flag            of `serve`; the name of the option if empty
    parse           reads its text, or a text of each item if it `is_repeated`
    least, most     the bounds of a number
    choices         its values, if they are few
    places          where it exists, beside the constructors and `serve`
    """

    help: str = ""
    metavar: str = ""
    flag: str = ""
    parse: Callable[[str], Any] = str
    is_repeated: bool = False
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()
    places: tuple[str, ...] = _EVERYWHERE


def _option(default: object, help: str = "", metavar: str = "", **more: Any) -> Any:
    return field(default=default, metadata={"option": Option(help, metavar, **more)})


def _number(default: int | None, help: str, metavar: str, least: int, most: int, places: tuple[str, ...]) -> Any:
    parse = whole_number(least, most)
    return _option(default, help, metavar, parse=parse, least=least, most=most, places=places)


@dataclass(frozen=True)
class ClusterSpec:
    """The options of a cluster. The docstring of `AsyncFakeCluster` tells what they mean."""

    brokers: int | None = _number(
        None, "Number of brokers, 1 to 100. Their ids are 1 to N (default: 3).", "N", 1, 100, _EVERYWHERE
    )
    _: KW_ONLY
    broker_ids: Sequence[int] | None = _option(
        None,
        "Broker ids, instead of 1 to N. Example: 0,1,2.",
        "IDS",
        parse=parse_broker_ids,
        places=(SCENARIO,),
    )
    racks: Mapping[int, str] | None = _option(
        None,
        "Rack of a broker. Example: 1=a. May be repeated. The default is the setting broker.rack.",
        RACK_FORM,
        flag="--rack",
        parse=parse_rack,
        is_repeated=True,
    )
    features: Mapping[str, int] | None = _option(
        None,
        "Level of a feature from the start. Example: transaction.version=1. May be repeated.",
        FEATURE_FORM,
        flag="--feature",
        parse=parse_feature,
        is_repeated=True,
    )
    host: str | None = _option(None, "Address to listen on (default: 127.0.0.1).", "HOST", places=(SCENARIO,))
    port: int | None = _number(
        None,
        f"The n-th broker listens on P + n - 1. 0 takes free ports (default: {PORT_OF_SERVE}).",
        "P",
        0,
        _PORT_MOST,
        (SCENARIO,),
    )
    advertised_host: str | None = _option(
        None,
        "Host name in metadata, to which clients connect. dialled: the address that each client used "
        "(default: --host).",
        "HOST",
        places=(SCENARIO,),
    )
    advertised_port: int | None = _number(
        None,
        "Port in metadata: P + n - 1 for the n-th broker (default: the port that it listens on).",
        "P",
        0,
        _PORT_MOST,
        (SCENARIO,),
    )
    listeners: Sequence[str] | None = _option(
        None,
        "Listener of each broker. The n-th listens on PORT + n - 1. PROTOCOL is PLAINTEXT, SSL, SASL_PLAINTEXT or "
        "SASL_SSL. Example: OUTSIDE=SASL_SSL://0.0.0.0:9093,advertised=kafka.test:19093. May be repeated.",
        FORM,
        flag="--listener",
        is_repeated=True,
    )
    certificates: str | PathLike[str] | None = _option(  # noqa: RUF009  it returns a field
        None,
        "Folder for the CA and the certificates of listeners with TLS. It keeps its CA (default: a temporary one).",
        "DIR",
        parse=file_name,
        places=(SCENARIO,),
    )
    users: Mapping[str, str] | None = _option(
        None,
        "User of SASL, for PLAIN and SCRAM. The default listener is SASL_PLAINTEXT then. Example: alice=secret. "
        "May be repeated.",
        USER_FORM,
        flag="--user",
        parse=parse_user,
        is_repeated=True,
    )
    acls: Sequence[Mapping[str, str]] | None = _option(
        None,
        "ACL, with Kafka's authorizer: what no ACL allows is refused. RESOURCE is topic, group, cluster, "
        "transactional-id, delegation-token or user; further keys are host, permission (allow, deny) and pattern "
        "(literal, prefixed). Example: topic=orders,operation=read,principal=User:alice. May be repeated.",
        ACL_FORM,
        flag="--acl",
        parse=parse_acl,
        is_repeated=True,
    )
    followers: str = _option(
        "instant",
        "Behaviour of the followers: instant, lagging:MS (milliseconds), throttled:BYTES_PER_S, frozen, "
        "or external (default: instant).",
        "BEHAVIOUR",
    )
    config: Mapping[str, str | int | bool] | None = _option(
        None,
        "Broker setting, by its name in Kafka. Example: replica.lag.time.max.ms=60000. May be repeated.",
        "NAME=VALUE",
        parse=parse_setting,
        is_repeated=True,
    )
    defaults: str = _option(
        "fakebroker",
        "Set of defaults. test: shorter waits for tests. kafka: Kafka's where ours differ, such as replication "
        "factor 1 and no memory limit (default: fakebroker).",
        "WHOSE",
        choices=("fakebroker", "kafka", "test"),
    )
    seed: int = _option(
        0, "Seed of the schedule and, in a first life, of all ids (default: 0).", "N", parse=whole_number()
    )
    life: str = _option(
        "new",
        "new: ids differ from those of earlier clusters at the same address. first: ids follow from the seed "
        "and are the same in each run (default: new).",
        "LIFE",
        choices=("new", "first"),
    )
    schedule: str = _option(
        "first-come",
        "Order of events that Kafka leaves open, such as requests that arrive together: first-come, or "
        "random, drawn by the seed (default: first-come).",
        "SCHEDULE",
        choices=("first-come", "random"),
        places=(SCENARIO, MARKER),
    )
    clock: str = _option(
        "real",
        "real. auto: skips the time that parked requests wait while all clients are quiet. manual: advances only "
        "when the HTTP control says so (default: real).",
        "CLOCK",
        choices=("real", "manual", "auto"),
    )
    journal: int = _option(DEFAULT_SIZE, places=())
    journal_file: str | PathLike[str] | None = _option(  # noqa: RUF009  it returns a field
        None,
        "File to which each event is written as a line of JSON.",
        "FILE",
        flag="--journal",
        parse=file_name,
        places=(),
    )


class OptionError(ValueError):
    """Options that contradict each other or leave no room. `sentence` has a {} for each of `names`: `str` gives it with
    their names in Python, `on_the_command_line` with those of `serve`."""

    def __init__(self, sentence: str, *names: str) -> None:
        super().__init__(sentence.format(*names))
        self.on_the_command_line = sentence.format(*map(flag_of, names))


def flag_of(name: str) -> str:
    """Return the name of an option on the command line of `serve`."""
    option = dict(options())[name]
    return option.flag or f"--{name.replace('_', '-')}"


def options() -> Iterator[tuple[str, Option]]:
    """Yield the name of each option, with what belongs to it, in the order of the constructor."""
    for spec_field in fields(ClusterSpec):
        yield spec_field.name, spec_field.metadata["option"]

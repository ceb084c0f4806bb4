"""The main function of `fakebroker serve`: a cluster in a process of its own, until a signal arrives."""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import logging
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fakebroker.control.listening import DEFAULT_PORT, Control, missing, new_toxiproxy
from fakebroker.core.errors import KafkaError
from fakebroker.core.faults.fault import Fault
from fakebroker.core.faults.presets import Preset
from fakebroker.core.quota.quota import QuotaEntity
from fakebroker.core.security.identity import PLAINTEXT
from fakebroker.extras import not_installed
from fakebroker.server.async_cluster import AsyncFakeCluster
from fakebroker.server.loops import new_event_loop
from fakebroker.server.made.option_texts import QuotaSpec, TopicSpec
from fakebroker.server.made.spec import OptionError
from fakebroker.server.running import parent
from fakebroker.server.running.collecting import collect_what_is_new
from fakebroker.server.running.no_more_files import keep_files, tell_of_no_more_files
from fakebroker.server.running.one_port import LOOPBACK
from fakebroker.server.settings import on_the_command_line
from fakebroker.server.writing.announcement import Announcement

if TYPE_CHECKING:
    from fakebroker.control.toxiproxy.service import Toxiproxy

_OTHER_PORT_HELPS = {errno.EADDRINUSE, errno.EACCES}
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

log = logging.getLogger("fakebroker")


class ControlSpec(NamedTuple):
    """The options of the control. `is_wanted`: it was requested explicitly, so it is an error if it cannot be served. A
    port of None means the default one, or a free one where the brokers have free ones."""

    is_wanted: bool = False
    port: int | None = None
    host: str = LOOPBACK
    token: str | None = None


class ToxiproxySpec(NamedTuple):
    """The options of toxiproxy: the port of its API, where its proxies listen, and their first port (0 takes free
    ones)."""

    port: int
    host: str
    first_port: int


def serve_until_signal(
    topics: Sequence[TopicSpec],
    quotas: Sequence[QuotaSpec],
    ready_file: Path | None,
    unknown: Sequence[str] = (),
    scenario: Path | None = None,
    control: ControlSpec | None = None,
    toxiproxy: ToxiproxySpec | None = None,
    faults: Sequence[Fault | Preset] = (),
    exit_with_parent: bool = False,
    **arguments: Any,
) -> str | None:
    """Run an AsyncFakeCluster until SIGINT or SIGTERM; a second signal kills the process at once. With
    `exit_with_parent` the end of stdin ends it too.

    `unknown` are names of settings that have no meaning. `arguments` of the cluster take precedence over a `scenario`.
    Without `control` there is no HTTP control. Return a sentence about what is wrong with an option or went wrong at
    the start, or None.
    """
    try:
        if scenario is None:
            cluster = AsyncFakeCluster(**arguments, journal=0)
        else:
            cluster = AsyncFakeCluster.from_scenario(scenario, **arguments, journal=0)
    except OptionError as error:
        if toxiproxy is not None:  # its proxies have the ports of --port, and the brokers advertise them
            return error.on_the_command_line.replace("--advertised-port", "--port")
        return error.on_the_command_line
    except (ValueError, KafkaError) as error:
        return str(error)
    except OSError as error:
        return f"--scenario {scenario}: {os.strerror(error.errno or 0)}"
    if exit_with_parent and not parent.is_a_pipe(parent.STDIN):
        return "--exit-with-parent: stdin is not a pipe, so its end cannot show that the parent has ended"
    if cluster.clock.kind == "manual":
        if control is None:
            return "a manual clock needs the HTTP control: leave out --no-control, or use --clock auto"
        control = control._replace(is_wanted=True)
    lacks = ""
    if (name := missing()) is not None:
        if toxiproxy is not None or (control is not None and control.is_wanted):
            return not_installed("--toxiproxy-port" if toxiproxy is not None else "the control", name, "control")
        if control is not None:
            lacks = f" ({not_installed('no HTTP control: it', name, 'control')})"
        control = None
    try:
        announcement = Announcement(ready_file)
    except OSError as error:
        return f"--ready-file {ready_file}: {error.strerror}"
    if unknown:
        log.warning("not settings of Kafka 4.4, without effect here: %s", ", ".join(sorted(unknown)))
    loop = new_event_loop()
    tell_of_no_more_files(loop)
    keep_files(True)
    try:
        return loop.run_until_complete(
            _serve(
                cluster, topics, quotas, faults, announcement, ready_file, control, toxiproxy, lacks, exit_with_parent
            )
        )
    finally:
        keep_files(False)
        announcement.close()
        loop.close()


async def _serve(
    cluster: AsyncFakeCluster,
    topics: Sequence[TopicSpec],
    quotas: Sequence[QuotaSpec],
    faults: Sequence[Fault | Preset],
    announcement: Announcement,
    ready_file: Path | None,
    spec: ControlSpec | None,
    proxied: ToxiproxySpec | None,
    lacks: str,
    exit_with_parent: bool,
) -> str | None:
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stopped.set)
    if exit_with_parent:
        parent.when_parent_ends(loop, stopped.set)
    toxiproxy: Toxiproxy | None = None
    control: Control | None = None

    def set_up() -> None:
        if toxiproxy is not None:
            toxiproxy.advertise()
        for topic in topics:
            try:
                cluster.create_topic(*topic)
            except KafkaError as error:
                raise ValueError(f"--topic {topic.name}: {on_the_command_line(error, topic.configs)}") from None
        for user, client_id, alterations in quotas:
            try:
                cluster.server.driver.cluster.members.client_quotas.alter(QuotaEntity(user, client_id), alterations)
            except KafkaError as error:
                raise ValueError(f"--quota: {error}") from None
        for fault in faults:
            try:
                _install(cluster, fault)
            except (ValueError, KafkaError) as error:
                raise ValueError(f"--fault {json.dumps(fault.to_json())}: {error}") from None

    cluster.server.set_ups.append(set_up)
    if spec is not None:
        control = Control(cluster, spec.host, spec.token)
        if spec.is_wanted:
            control.load()
    try:
        await cluster.start()
    except (ValueError, KafkaError) as error:  # the cluster refuses the content of the scenario or of an option
        return str(error)
    except ModuleNotFoundError as error:
        return error.msg
    except OSError as error:
        if error.filename is not None:
            folder = cluster.tls._folder
            is_ours = folder is not None and Path(error.filename).is_relative_to(Path(folder).absolute())
            return f"{'--certificates' if is_ours else '--journal'} {error.filename}: {error.strerror}"
        return _why_not_listening(error)
    try:
        if proxied is not None:
            toxiproxy = new_toxiproxy(cluster)
            try:
                await toxiproxy.start(proxied.host, proxied.first_port, proxied.port)
            except OSError as error:
                return (
                    f"cannot listen for toxiproxy: {error.strerror or error}; take another --toxiproxy-port or --port"
                )
        if control is not None and spec is not None:
            problem = await _start_control(control, cluster, spec)
            if problem is not None:
                return problem
        collect_what_is_new()
        facts = _facts(cluster, control)
        if toxiproxy is not None:
            facts["toxiproxy_url"] = toxiproxy.url
        url = "" if facts["control_url"] is None else f" control_url={facts['control_url']}"
        line = f"fakebroker ready: bootstrap_servers={facts['bootstrap_servers']}{url} pid={facts['pid']}{lacks}"
        try:
            announcement.make(line, json.dumps(facts))
        except OSError as error:
            return f"--ready-file {ready_file}: {error.strerror}"
        await stopped.wait()
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_DFL)  # the next signal kills the process, without a KeyboardInterrupt
        _leave_to_the_system(cluster.server.driver)
        return None
    finally:
        if control is not None:
            await control.stop()
        if toxiproxy is not None:
            await toxiproxy.stop()
        await cluster.stop()


def _install(cluster: AsyncFakeCluster, fault: Fault | Preset) -> None:
    if isinstance(fault, Preset):
        cluster.faults.arise(fault)
    else:
        cluster.faults.add(fault)


async def _start_control(control: Control, cluster: AsyncFakeCluster, spec: ControlSpec) -> str | None:
    """Start the control. Return the error, if it was requested explicitly."""
    port = spec.port
    if port is None:
        port = DEFAULT_PORT if any(place.port for place in cluster.server.arguments.places) else 0
    try:
        await control.start(port)
    except OSError as error:
        problem = f"cannot listen on {spec.host}:{port} for the control: {error.strerror or error}"
        if spec.is_wanted:
            return f"{problem}; take another --control-port, or --control-port 0 for a free one"
        log.info("%s; serving without it (--control-port, --no-control)", problem)
    return None


def _leave_to_the_system(thing: object) -> None:
    """Keep an object alive until the process ends. Freeing it piece by piece takes 9 s with 100,000 topics; the system
    frees all memory at once. Frozen objects in cycles are not visited by the collector."""
    ring = [thing]
    ring.append(ring)
    gc.freeze()


def _why_not_listening(error: OSError) -> str:
    advice = "; take another --port, or --port 0 for free ones" if error.errno in _OTHER_PORT_HELPS else ""
    return f"cannot listen: {error.strerror or error}{advice}"


def _facts(cluster: AsyncFakeCluster, control: Control | None) -> dict[str, Any]:
    listeners = {listener.name: cluster.bootstrap(listener.name) for listener in cluster.listeners}
    return {
        "bootstrap_servers": cluster.bootstrap_servers,
        "brokers": [{"id": b.node_id, "host": b.host, "port": b.port} for b in cluster.endpoints],
        **({} if cluster.listeners == (PLAINTEXT,) else {"listeners": listeners}),
        **({"ca": str(cluster.tls.ca)} if any(listener.has_tls for listener in cluster.listeners) else {}),
        "control_url": control.url or None if control is not None else None,
        "pid": os.getpid(),
    }

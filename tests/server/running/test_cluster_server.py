"""The server of a cluster without an `AsyncFakeCluster`."""

from __future__ import annotations

import pytest
from support.ports import is_open
from support.watchdog import run

from fakebroker.core.errors import ConfigError
from fakebroker.server.made.arguments import Arguments
from fakebroker.server.made.lives import NEW, LifeSequence
from fakebroker.server.made.spec import ClusterSpec
from fakebroker.server.running.cluster_server import NOT_RUNNING, ClusterServer
from fakebroker.server.tls.in_hand import Tls
from fakebroker.server.writing.kept_journal import KeptJournal


def new_server() -> ClusterServer:
    arguments = Arguments.read(ClusterSpec(2))
    lives = LifeSequence(NEW, 0, is_known=False)
    return ClusterServer(arguments, "manual", Tls(arguments.places, None), lives, KeptJournal(10, None))


def test_a_reset_keeps_the_ports_and_replaces_the_driver() -> None:
    async def work() -> None:
        server = new_server()
        calls: list[str] = []
        server.set_ups.append(lambda: calls.append("set up"))
        server.on_stop = lambda: calls.append("stop")
        await server.start()
        driver, ports = server.driver, server.listeners.ports
        assert server.is_running
        assert server.driver_here() is server.driver_to_read() is driver
        assert server.reach(lambda driver: list(driver.cluster.registry.broker_ids)) == [1, 2]

        await server.reset()
        assert server.driver is not driver
        assert server.listeners.ports == ports
        assert all(is_open(port) for port in ports)

        await server.stop()
        await server.stop()
        assert calls == ["set up", "set up", "stop"]
        assert not any(is_open(port) for port in ports)
        assert server.snapshot_journal().topics == ()

    run(work())


def test_a_server_that_does_not_run_has_no_driver() -> None:
    async def work() -> None:
        server = new_server()
        assert not server.is_running
        for look in (lambda: server.driver, lambda: server.listeners, server.driver_here, server.driver_to_read):
            with pytest.raises(RuntimeError, match=NOT_RUNNING.split(":")[0]):
                look()

    run(work())


def test_a_start_whose_content_is_refused_leaves_nothing_open() -> None:
    def refuse() -> None:
        raise ConfigError("refused")

    async def work() -> None:
        server = new_server()
        server.set_ups.append(refuse)
        with pytest.raises(ConfigError, match="refused"):
            await server.start()
        assert not server.is_running
        assert server.descriptors() == []
        server.set_ups.clear()
        await server.start()
        await server.stop()

    run(work())

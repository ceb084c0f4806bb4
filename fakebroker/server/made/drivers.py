"""A new cluster with its driver, made from the arguments of an `AsyncFakeCluster`."""

from __future__ import annotations

import logging

from fakebroker.cluster.cluster import Cluster
from fakebroker.core.journal.events import Completed, Expired
from fakebroker.core.journal.journal import Journal
from fakebroker.core.schedule import order_of
from fakebroker.server.clocks import Clock
from fakebroker.server.driver import Driver
from fakebroker.server.made.arguments import Arguments
from fakebroker.server.made.lives import LifeSequence
from fakebroker.server.spill.file import SpillFile
from fakebroker.server.turn.measured_turn import MeasuredTurn
from fakebroker.server.writing.purgatory_log import log_unparked

log = logging.getLogger("fakebroker")


def new_driver(
    made: Arguments, lives: LifeSequence, clock: Clock, journal: Journal | None, store: SpillFile | None
) -> Driver:
    """Return the driver of a new cluster, which begins its next life."""
    now, order = clock.stamp(), order_of(made.schedule, made.seed)
    settings = made.broker_ids, made.config, made.behaviour, lives.begin(now.wall_ms)
    cluster = Cluster(now, *settings, journal, store, MeasuredTurn, made.racks, order)
    cluster.controller.features.format(made.features)
    if log.isEnabledFor(logging.DEBUG):
        cluster.probe.listen(log_unparked, Completed, Expired)
    return Driver(cluster, clock)

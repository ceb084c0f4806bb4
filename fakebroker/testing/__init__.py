"""The testing kit: simulated clusters with an oracle, Hypothesis machines for your own client, judges of journals.

    check_history, describe, Finding    records lost, duplicated, reordered or skipped, by the journal
    ProducerHistory, recorded           the same by the results of producers: acknowledged, refused, possibly written
    Simulation, SimulatedClient         a cluster in virtual time, without sockets
    Run, Replay, random_plan, from_text, to_text, command
                                        plans that run beside an oracle; `fakebroker replay` on the command line
    SimulatedProducers, Timelines       producers in virtual time, and the timeline of each record at both ends
    GroupHistory                        a judge of a group, by the reports of its members: owners, reads, commits
    GroupWorld, GroupRun, random_group_plan
                                        a group of simulated consumers among faults; `fakebroker replay --group`
    TransactionHistory                  a judge of transactions, by their producers and readers, with Jepsen's names
    TransactionWorld, TransactionRun, random_transaction_plan
                                        transactions among faults; `fakebroker replay --transactions`
    every_failure                       runs a test again for each request and response that could have failed
    KafkaContainer                      a replacement of testcontainers' class of that name
    ClientMachine                       your client under Hypothesis: subclass it
    ClusterMachine, TransactionMachine  the broker itself under Hypothesis
    strategies                          batches, requests, topologies, fault plans, plans

The last four need Hypothesis: pip install hypothesis. docs/testing-kit.md shows all of them at work, docs/pytest.md the
pytest plugin, which is in `plugin`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fakebroker.testing import strategies
    from fakebroker.testing.client_machine import ClientMachine
    from fakebroker.testing.cluster_machine import ClusterMachine
    from fakebroker.testing.container import KafkaContainer
    from fakebroker.testing.failures.every_failure import every_failure
    from fakebroker.testing.groups.judge import GroupHistory
    from fakebroker.testing.groups.plan import GroupRun, random_group_plan
    from fakebroker.testing.groups.world import GroupWorld
    from fakebroker.testing.history import Finding, check_history, describe
    from fakebroker.testing.messages import Violation
    from fakebroker.testing.plan import Action, from_text, random_plan, to_text
    from fakebroker.testing.producers.judge import ProducerHistory, ReadRecord
    from fakebroker.testing.producers.stock import recorded
    from fakebroker.testing.producing.picture import picture
    from fakebroker.testing.producing.simulated_producers import SimulatedProducers
    from fakebroker.testing.producing.timeline import Timelines, TimelineStep
    from fakebroker.testing.replay import Replay, command
    from fakebroker.testing.run import Run
    from fakebroker.testing.simulation import SimulatedClient, Simulation
    from fakebroker.testing.transactions.judge import TransactionHistory
    from fakebroker.testing.transactions.machine import TransactionMachine
    from fakebroker.testing.transactions.plan import TransactionRun, random_transaction_plan
    from fakebroker.testing.transactions.world import TransactionWorld

__all__ = [
    "Action",
    "ClientMachine",
    "ClusterMachine",
    "Finding",
    "GroupHistory",
    "GroupRun",
    "GroupWorld",
    "KafkaContainer",
    "ProducerHistory",
    "ReadRecord",
    "Replay",
    "Run",
    "SimulatedClient",
    "SimulatedProducers",
    "Simulation",
    "TimelineStep",
    "Timelines",
    "TransactionHistory",
    "TransactionMachine",
    "TransactionRun",
    "TransactionWorld",
    "Violation",
    "check_history",
    "command",
    "describe",
    "every_failure",
    "from_text",
    "picture",
    "random_group_plan",
    "random_plan",
    "random_transaction_plan",
    "recorded",
    "strategies",
    "to_text",
]

# Imported on first use: pytest imports this package for its plugin, in every project that has it installed.
_MODULES = {
    "client_machine": ["ClientMachine"],
    "cluster_machine": ["ClusterMachine"],
    "container": ["KafkaContainer"],
    "failures.every_failure": ["every_failure"],
    "groups.judge": ["GroupHistory"],
    "groups.plan": ["GroupRun", "random_group_plan"],
    "groups.world": ["GroupWorld"],
    "history": ["Finding", "check_history", "describe"],
    "messages": ["Violation"],
    "plan": ["Action", "from_text", "random_plan", "to_text"],
    "producers.judge": ["ProducerHistory", "ReadRecord"],
    "producers.stock": ["recorded"],
    "producing.picture": ["picture"],
    "producing.simulated_producers": ["SimulatedProducers"],
    "producing.timeline": ["TimelineStep", "Timelines"],
    "replay": ["Replay", "command"],
    "run": ["Run"],
    "simulation": ["SimulatedClient", "Simulation"],
    "transactions.judge": ["TransactionHistory"],
    "transactions.machine": ["TransactionMachine"],
    "transactions.plan": ["TransactionRun", "random_transaction_plan"],
    "transactions.world": ["TransactionWorld"],
}
_LAZY = {name: module for module, names in _MODULES.items() for name in names} | {"strategies": "strategies"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"{__name__}.{_LAZY[name]}")
    except ModuleNotFoundError as error:
        if error.name != "hypothesis":
            raise
        raise ImportError(
            f"fakebroker.testing.{name} needs Hypothesis, which is not installed: pip install hypothesis"
        ) from None
    value = globals()[name] = module if name == "strategies" else getattr(module, name)
    return value

"""The setup of a scenario through fakebroker's HTTP control. It is undone at the end, whatever happens.

Shape    `with prepared(ask, scenario, run_id, keep) as own:` creates the scenario's topics under names of this run
         alone (`orders-1f3a...`), and sets what their followers do. It yields the scenario with these names.
Theory   The topics are the run's own. So records of other clients cannot make the run fail, and followers of other
         topics are not frozen.
Errors   ControlCallError for calls that the control refuses. A refused deletion of a topic is only reported.
         LoadScenarioError if the cluster has too few brokers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from fakebroker_load.control import ControlCallError
from fakebroker_load.scenario.actions import Ask, renamed
from fakebroker_load.scenario.model import LoadScenario, LoadScenarioError


@contextmanager
def prepared(ask: Ask, scenario: LoadScenario, run_id: str, keep_topics: bool = False) -> Iterator[LoadScenario]:
    """Yield the scenario with its own topics, which exist during the block."""
    brokers = len(ask("GET", "/v1/cluster", None)["brokers"])
    if brokers < scenario.brokers:
        raise LoadScenarioError(
            f"The scenario {scenario.name!r} needs {scenario.brokers} brokers, and the cluster has {brokers}.",
            "brokers",
        )
    names = {topic: f"{topic}-{run_id}" for topic in scenario.topics}
    with ExitStack() as undo:
        for topic, partitions in scenario.topics.items():
            factor = min(scenario.brokers, brokers)
            new: dict[str, Any] = {"partitions": partitions, "replication_factor": factor}
            if topic in scenario.assignments:
                new = {"assignments": scenario.assignments[topic]}
            new |= {"name": names[topic], "configs": dict(scenario.configs.get(topic, {}))}
            ask("POST", "/v1/topics", new)
            if not keep_topics:
                undo.callback(_delete, ask, names[topic])
        followers = tuple({**rule, "topic": names[str(rule["topic"])]} for rule in scenario.followers)
        for rule in followers:
            ask("PUT", "/v1/followers", rule)
        groups = tuple(
            replace(
                group,
                topic=names[group.topic],
                beside={names[topic]: name for topic, name in group.beside.items()},
                source=group.source and names[group.source],
            )
            for group in scenario.groups
        )
        configs = {names[topic]: given for topic, given in scenario.configs.items()}
        assignments = {names[topic]: given for topic, given in scenario.assignments.items()}
        actions = tuple(renamed(action, names) for action in scenario.actions)
        yield replace(
            scenario, groups=groups, configs=configs, followers=followers, assignments=assignments, actions=actions
        )


def _delete(ask: Ask, topic: str) -> None:
    """Delete the topic. If that fails, report it and go on to the verdict, since the measurement is still valid."""
    try:
        ask("DELETE", f"/v1/topics/{quote(topic, safe='')}", None)
    except ControlCallError as error:
        print(f"fakebroker-load: the topic {topic} stays: {error}", file=sys.stderr)

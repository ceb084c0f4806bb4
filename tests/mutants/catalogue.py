"""The mutants of mutants.toml, and the tests that each must not survive."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple


class Mutant(NamedTuple):
    """A slip in a file: `old` stands there exactly once. `verdict` judges one that lives."""

    path: str
    why: str
    old: str
    new: str
    verdict: str = ""


MUTANTS = [Mutant(**entry) for entry in tomllib.loads(Path(__file__).with_name("mutants.toml").read_text())["mutant"]]

# What is run against a mutant of a file, the quickest first; then, if it lives, the simulation.
TESTS = {
    "timingwheel/wheel.py": [
        "tests/timingwheel/test_wheel.py",
        "tests/timingwheel/test_system_timer.py",
        "tests/timingwheel/test_timer_model.py",
    ],
    "timingwheel/timer.py": [
        "tests/timingwheel/test_system_timer.py",
        "tests/timingwheel/test_timer_model.py",
    ],
    "fakebroker/core/purgatory.py": [
        "tests/core/test_purgatory.py",
        "tests/properties/test_purgatory_machine.py",
        "tests/core/test_produce_timeout.py",
    ],
    "fakebroker/core/delayed_operation.py": [
        "tests/core/test_purgatory.py",
        "tests/properties/test_purgatory_machine.py",
    ],
    "fakebroker/core/delayed_produce.py": [
        "tests/core/test_produce_timeout.py",
        "tests/core/test_produce_timeout_properties.py",
        "tests/core/test_leader_moves.py",
    ],
    "fakebroker/core/partition.py": [
        "tests/core/test_partition.py",
        "tests/core/test_followers.py",
        "tests/core/test_leader_moves.py",
        "tests/core/test_brokers.py",
        "tests/properties/test_found.py",
    ],
    "fakebroker/core/producer_state.py": [
        "tests/core/test_producer_state.py",
        "tests/properties/test_producer_machine.py",
    ],
    "fakebroker/core/connection.py": [
        "tests/core/test_connection.py",
        "tests/core/test_socket_server.py",
        "tests/core/test_throttling.py",
        "tests/properties/test_connection_machine.py",
    ],
    "fakebroker/core/socket_server.py": [
        "tests/core/test_socket_server.py",
        "tests/core/test_throttling.py",
        "tests/core/test_connection_quotas.py",
        "tests/properties/test_connection_machine.py",
    ],
    "fakebroker/core/follower.py": [
        "tests/core/test_followers.py",
        "tests/properties/test_found.py",
        "tests/core/test_leader_moves.py",
    ],
}
SIMULATION = ["tests/properties/test_seeds.py"]

"""The mutants of mutants.toml, and the tests that each must not survive."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple


class Mutant(NamedTuple):
    """A slip in a file: `old` stands there exactly once. `verdict` judges one that lives. `finds` is the anomaly of
    transactions, by its name, to which it leads; the oracle of the whole cluster tells of one that is `in_cluster`."""

    path: str
    why: str
    old: str
    new: str
    verdict: str = ""
    finds: str = ""
    in_cluster: bool = False


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
    "fakebroker/producer/producer_batch.py": [
        "tests/producer/test_producer_batch.py",
        "tests/producer/test_producer_golden.py",
    ],
    "fakebroker/producer/record_accumulator.py": [
        "tests/producer/sending/test_sender.py",
        "tests/producer/test_record_accumulator.py",
        "tests/producer/test_producer_golden.py",
    ],
    "fakebroker/producer/accumulator_2_0.py": [
        "tests/producer/test_record_accumulator.py",
        "tests/producer/test_producer_golden.py",
    ],
    "fakebroker/producer/accumulator_4_3.py": [
        "tests/producer/test_record_accumulator.py",
        "tests/producer/test_producer_golden.py",
    ],
    "fakebroker/producer/sending/completion.py": [
        "tests/producer/sending/test_sender.py",
        "tests/producer/test_producer_golden.py",
    ],
    "fakebroker/producer/sending/sender.py": [
        "tests/producer/sending/test_sender.py",
        "tests/producer/test_producer_golden.py",
    ],
    "fakebroker/producer/sending/in_flight_batches.py": [
        "tests/producer/sending/test_sender.py",
        "tests/producer/test_producer_golden.py",
    ],
    "fakebroker/producer/sending/in_flight_requests.py": [
        "tests/producer/sending/test_in_flight_requests.py",
        "tests/producer/test_producer_golden.py",
    ],
    "fakebroker/producer/buffer_pool.py": [
        "tests/producer/test_buffer_pool.py",
        "tests/producer/test_producer_golden.py",
    ],
    "fakebroker/producer/client/sending.py": ["tests/producer/client"],
    "fakebroker/producer/client/record_sends.py": ["tests/producer/client"],
    "fakebroker/producer/client/kafka_producer.py": ["tests/producer/client"],
    "fakebroker/producer/client/sender_thread.py": ["tests/producer/client"],
    "fakebroker/producer/client/transaction_calls.py": [
        "tests/producer/client",
        "tests/testing/producing/test_transactional_producers.py",
    ],
    "fakebroker/core/purgatory/purgatory.py": [
        "tests/core/purgatory/test_purgatory.py",
        "tests/properties/test_purgatory_machine.py",
        "tests/core/replication/test_produce_timeout.py",
    ],
    "fakebroker/core/purgatory/delayed_operation.py": [
        "tests/core/purgatory/test_purgatory.py",
        "tests/properties/test_purgatory_machine.py",
    ],
    "fakebroker/core/replication/delayed_produce.py": [
        "tests/core/replication/test_produce_timeout.py",
        "tests/core/replication/test_produce_timeout_properties.py",
        "tests/core/controller/test_leader_moves.py",
    ],
    "fakebroker/core/replication/partition.py": [
        "tests/core/replication/test_partition.py",
        "tests/core/replication/test_followers.py",
        "tests/core/controller/test_leader_moves.py",
        "tests/cluster/test_brokers.py",
        "tests/cluster/test_altered_configs.py",
        "tests/properties/test_found.py",
    ],
    "fakebroker/core/replication/isr.py": [
        "tests/core/replication/test_partition.py",
        "tests/core/replication/test_followers.py",
        "tests/core/controller/test_leader_moves.py",
        "tests/cluster/test_brokers.py",
        "tests/properties/test_found.py",
    ],
    "fakebroker/core/config/dynamic_broker_config.py": ["tests/core/config/test_snapshots.py"],
    "fakebroker/core/config/broker_config.py": ["tests/core/config/test_snapshots.py"],
    "fakebroker/core/log/producer_entry.py": [
        "tests/core/log/test_producer_state.py",
        "tests/properties/test_producer_machine.py",
    ],
    "fakebroker/core/log/producer_state.py": [
        "tests/core/log/test_producer_state.py",
        "tests/properties/test_producer_machine.py",
    ],
    "fakebroker/network/connection.py": [
        "tests/network/test_connection.py",
        "tests/network/test_socket_server.py",
        "tests/core/quota/test_throttling.py",
        "tests/properties/test_connection_machine.py",
    ],
    "fakebroker/network/throttled_channel.py": [
        "tests/core/quota/test_throttling.py",
        "tests/network/test_socket_server.py",
    ],
    "fakebroker/network/acceptor.py": [
        "tests/network/test_acceptor.py",
        "tests/network/test_socket_server.py",
    ],
    "fakebroker/network/open_connections.py": [
        "tests/network/test_socket_server.py",
        "tests/network/test_connection_quotas.py",
        "tests/properties/test_connection_machine.py",
    ],
    "fakebroker/network/socket_server.py": [
        "tests/network/test_turns.py",
        "tests/network/test_socket_server.py",
        "tests/core/quota/test_throttling.py",
        "tests/network/test_connection_quotas.py",
        "tests/cluster/test_altered_configs.py",
        "tests/properties/test_connection_machine.py",
    ],
    "fakebroker/core/replication/follower.py": [
        "tests/core/replication/test_followers.py",
        "tests/properties/test_found.py",
        "tests/core/controller/test_leader_moves.py",
    ],
}
# The group among faults judges what members are told, without a look into the coordinator; so do Kafka's transcripts.
_GROUPS = ["tests/properties/test_group_seeds.py", "tests/conformance/test_golden.py"]
TESTS |= {
    "fakebroker/core/replication/reads.py": _GROUPS,
    "fakebroker/core/groups/consumer/reconciliation.py": _GROUPS,
    "fakebroker/core/groups/classic/rebalance.py": _GROUPS,
    "fakebroker/core/groups/offsets/offsets.py": _GROUPS,
    "fakebroker/core/coordinator/loading.py": _GROUPS,
}
# So do transactions among faults.
_TRANSACTIONS = ["tests/properties/test_transaction_seeds.py"]
TESTS |= {
    "fakebroker/core/replication/reads.py": [*_GROUPS, *_TRANSACTIONS],
    "fakebroker/core/log/transactions/state.py": _TRANSACTIONS,
    "fakebroker/core/transactions/coordinator.py": [*_TRANSACTIONS, "tests/core/transactions"],
    "fakebroker/core/transactions/ending.py": _TRANSACTIONS,
    "fakebroker/core/transactions/marker_sender.py": ["tests/core/transactions", *_TRANSACTIONS],
    "fakebroker/core/transactions/own_records.py": _TRANSACTIONS,
    "fakebroker/core/groups/offsets/pending.py": _TRANSACTIONS,
}
TESTS["fakebroker/core/log/producer_state.py"] += _TRANSACTIONS
SIMULATION = ["tests/properties/test_seeds.py"]

"""Allowed differences between Kafka and fakebroker, and why. The only such list: any other difference is a failure."""

from __future__ import annotations

from conformance.transactions.stand_ins import producer
from conformance.transcripts.rule import (
    Rule,
    both_numbers,
    both_or_none,
    both_random_ids,
    both_texts,
    both_wall_times,
    near,
    only_kafka,
    same_but_for_clocks,
    same_but_for_ports,
    same_refusal,
)
from fakebroker.apis import registry
from fakebroker.apis.features import supported_features
from fakebroker.core.config.broker_config import BrokerConfig

# Settings of Kafka's processes that fakebroker does not have, or has with other values: addresses and directories.
_OF_A_PROCESS = (
    "listeners", "advertised.listeners", "log.dirs", "process.roles", "controller.quorum.voters",
    "controller.listener.names",
)  # fmt: skip
_OUR_OWN = [name for name, key in BrokerConfig.SETTINGS.items() if not key.is_kafkas]
_SERVED = registry.load().keys()

RULES: tuple[Rule, ...] = (
    *(
        Rule(
            "Wall times differ: the session lifetime is the time until the token expires",
            "*.says.session_lifetime",
            cases,
            lambda kafka, ours: both_numbers(kafka, ours) and min(kafka, ours) > 1_000_000_000_000,
        )
        for cases in ("sasl-oauth/*", "sasl-signed/*", "sasl-ignored/handler", "users-logins/oauth-*")
    ),
    *(
        Rule(
            "Wall times differ: a token is created at the time of the run",
            f"*.{field}_timestamp{behind}",
            cases,
            both_wall_times,
        )
        for field, behind in (("issue", ""), ("expiry", ""), ("expiry", "_ms"), ("max", ""))
        for cases in ("sasl-token/create-*", "users-tokens/*")
    ),
    Rule(
        "Each cluster generates its own token ids",
        "*.says.token_id",
        "sasl-token/create-*",
        lambda kafka, ours: both_texts(kafka, ours) and len(kafka) == len(ours),
    ),
    Rule(
        "The HMAC of a token is computed from its id, which differs",
        "*.says.hmac",
        "sasl-token/create-*",
        lambda kafka, ours: both_texts(kafka, ours) and len(kafka) == len(ours),
    ),
    Rule(
        "A request that the SASL state does not allow gets the same error code, but not Kafka's error message",
        "*.says.error_message",
        "sasl-state/during-*",
    ),
    Rule("Each broker has its own log directories", "*.says.results[*].log_dir", "describe-log-dirs/*", both_texts),
    *(
        Rule(
            "Kafka reports the size of the disk, fakebroker reports its memory",
            f"*.says.results[*].{field}",
            "describe-log-dirs/*",
            both_numbers,
        )
        for field in ("total_bytes", "usable_bytes")
    ),
    Rule("Each cluster has its own id", "*.cluster_id", holds=both_texts),
    Rule("Each cluster has its own ports", "*.port", holds=both_numbers),
    Rule(
        "A KRaft broker returns any live broker as the controller",
        "*.controller_id",
        holds=lambda kafka, ours: both_numbers(kafka, ours) and min(kafka, ours) >= 1,
    ),
    Rule(
        "Wall times differ: the delete horizon is counted from the time of the compaction (KIP-534)",
        "*.batches[*].base_timestamp_ms",
        "compaction/*",
        both_wall_times,
    ),
    Rule("The CRC of a batch covers its timestamps, which differ", "*.batches[*].crc", "compaction/*", both_numbers),
    Rule(
        "Record timestamps are deltas to the base timestamp, which differs",
        "*.batches[*].records",
        "compaction/*",
        lambda kafka, ours: both_texts(kafka, ours) and len(kafka) == len(ours),
    ),
    Rule(
        "In Kafka a Fetch response ends at the end of a segment; in fakebroker it does not",
        "*.records.batches[*]",
        "compaction/*",
        lambda kafka, ours: kafka == "(absent)" and isinstance(ours, dict),
    ),
    Rule(
        "Each cluster assigns its own producer ids to new producers",
        "*.producer_id",
        "producer-id/*",
        holds=lambda kafka, ours: both_numbers(kafka, ours) and min(kafka, ours) >= 0,
    ),
    *(
        Rule(
            "Wall times differ: the start of a transaction, and the time of a write",
            f"*.{field}",
            case,
            both_wall_times,
        )
        for case in ("transactions*", "compaction/transactions-*")
        for field in ("transaction_start_time", "last_timestamp", "timestamp")
    ),
    Rule("Each cluster generates its own client instance ids", "*.client_instance_id", "telemetry/new-id", both_texts),
    Rule(
        "The subscription id is computed from the client instance id, which differs",
        "*.subscription_id",
        "telemetry/new-id",
        both_numbers,
    ),
    Rule(
        "fakebroker serves fewer APIs than Kafka, and advertises only those",
        "*.says.api_keys.*",
        holds=lambda kafka, ours: only_kafka(kafka, ours) and kafka["api_key"] not in _SERVED,
    ),
    Rule(
        "fakebroker does not report the features of APIs that it does not serve",
        "*.says.*ed_features.*",
        holds=lambda kafka, ours: only_kafka(kafka, ours) and kafka["name"] not in supported_features(),
    ),
    Rule(
        "The epoch of the finalized features is an offset in Kafka's metadata log",
        "*.says.finalized_features_epoch",
        holds=lambda kafka, ours: both_numbers(kafka, ours) and min(kafka, ours) > 0,
    ),
    *(
        Rule(
            "Kafka runs with the longest `log.roll.ms`, so that a Fetch reads a whole log; fakebroker with the default",
            f"*.configs.segment.ms.{field}",
            case,
            lambda kafka, ours: (
                (kafka, ours) in ((str((1 << 63) - 1), str(7 * 86_400_000)), (4, 5))
                or (
                    isinstance(kafka, dict)
                    and kafka["name"] in ("log.roll.ms", "log.roll.hours")
                    and ours == "(absent)"
                )
            ),
        )
        for field in ("value", "config_source", "synonyms*")
        for case in ("create/*", "generated/*", "found/*", "quota-mutation/*", "walks/*")
    ),
    Rule(
        "The documentation of settings has other words",
        "*.configs.*.documentation",
        "*",
        lambda kafka, ours: both_texts(kafka, ours) and bool(kafka) and bool(ours),
    ),
    *(
        Rule(
            "Each cluster has its own ports, directories and controllers",
            f"*.configs.{name}.{field}",
            case,
            both_or_none,
        )
        for name in _OF_A_PROCESS
        for field in ("value", "synonyms*", "config_source", "read_only", "documentation")
        for case in ("describe-configs/broker-v?", "alter-broker/*")
    ),
    *(
        Rule(
            "Each cluster has its own ports, directories and controllers",
            f"*.configs.listeners.{field}",
            "alter-listeners/described",
            same_but_for_ports,
        )
        for field in ("value", "synonyms[*].value")
    ),
    Rule(
        "fakebroker has settings that Kafka does not have",
        "*.configs.*",
        "describe-configs/broker-v?",
        lambda kafka, ours: kafka == "(absent)" and isinstance(ours, dict) and ours["name"] in _OUR_OWN,
    ),
    *(
        Rule(
            "The default replication factor of internal topics is at most the number of brokers (docs/decisions.md)",
            f"*.configs.{name}.replication.factor.*",
            "describe-configs/broker-v?",
            lambda kafka, ours: (kafka, ours) == ("3", "1"),
        )
        for name in ("offsets.topic", "transaction.state.log")
    ),
    Rule(
        "Kafka runs with the log level WARN",
        "*.configs.root.value",
        holds=lambda kafka, ours: (kafka, ours) == ("WARN", "INFO"),
    ),
    Rule(
        "Kafka's error message has the text of a Java exception; ours says what is wrong",
        "*.error_message",
        "alter-broker/connections-*",
        lambda kafka, ours: str(kafka).startswith("Error parsing configuration property") and bool(ours),
    ),
    Rule("Each cluster generates its own topic ids", "*.topics[*].topic_id", "create/*", both_texts),
    *(
        Rule("Each cluster generates its own topic ids", "*.topics[*].topic_id", f"{cases}/create-*", both_random_ids)
        for cases in ("authorization", "users-allowed")
    ),
    *(
        Rule(
            "Kafka's error message prints the Java object of the denied request; ours names the API",
            "*.error_message",
            cases,
            same_refusal,
        )
        for cases in ("authorization/*", "users-*")
    ),
    Rule(
        "A producer id that a generated stream invents may be one that a cluster has assigned",
        "*.batches[*].producer_id",
        "generated/*",
        lambda kafka, ours: both_numbers(kafka, ours) and min(kafka, ours) < producer(1) <= max(kafka, ours),
    ),
    Rule(
        "Each cluster generates its own ids of topics that Metadata creates",
        "*.says.topics[*].topic_id",
        "generated/*",
        both_random_ids,
    ),
    Rule("Each cluster generates its own topic ids", "*.topics[*].topic_id", "describe-topic-partitions/*", both_texts),
    *(
        Rule(
            "The ISR is a set: fakebroker returns it in the order of the assignment",
            "*.partitions[*].isr_nodes[*]",
            case,
            both_numbers,
        )
        for case in ("reassign/*", "elect-leaders/*", "deaths*/*", "cuts/*")
    ),
    *(
        Rule(
            "The metadata logs differ: in fakebroker an offset counts the controller's decisions",
            f"*.topics[*].partitions[*].{field}",
            "describe-quorum/*",
            both_numbers,
        )
        for field in ("high_watermark", "current_voters[*].log_end_offset", "observers[*].log_end_offset")
    ),
    *(
        Rule(
            "Wall times differ: the last fetch of a replica, and when it last caught up",
            f"*.partitions[*].{replicas}[*].{field}",
            "describe-quorum/*",
            both_wall_times,
        )
        for replicas in ("current_voters", "observers")
        for field in ("last_fetch_timestamp", "last_caught_up_timestamp")
    ),
    Rule(
        "Log directories have no ids in fakebroker",
        "*.observers[*].replica_directory_id",
        "describe-quorum/*",
        lambda kafka, ours: ours is None,
    ),
    Rule(
        "Wall times differ: the error message has allowed timestamps, which depend on the broker's time",
        "*.batch_index_error_message",
        holds=same_but_for_clocks,
    ),
    Rule(
        "Wall times differ: LogAppendTime is the broker's time", "*.log_append_time", "*append-time*", both_wall_times
    ),
    Rule(
        "Wall times differ: LogAppendTime is the largest timestamp of the stored batch",
        "*.batches[*].max_timestamp_ms",
        "*append-time*",
        both_wall_times,
    ),
    Rule(
        "The CRC of a batch covers its timestamps, which differ",
        "*.batches[*].crc",
        "*append-time*",
        both_numbers,
    ),
    *(
        Rule(
            "Compression libraries differ: the same records take another number of bytes",
            f"*.batches[*].{field}",
            case,
            both_numbers,
        )
        for field in ("batch_length", "crc")
        for case in ("recompress/[!u]*", "*/recompressed*")  # what is stored uncompressed is the same
    ),
    Rule(
        "Wall times differ: ListOffsets returns the LogAppendTime of the stored batch",
        "*.timestamp",
        "*append-time*",
        both_wall_times,
    ),
    *(
        Rule(
            "Each cluster assigns its own producer ids",
            "*.says.producer_id",
            case,
            lambda kafka, ours: both_numbers(kafka, ours) and min(kafka, ours) >= 0,
        )
        for case in ("generated/*", "found/*")
    ),
    Rule(
        "Kafka sends no response to null records; fakebroker returns UNKNOWN_SERVER_ERROR (docs/decisions.md, 9)",
        "[*].answers[*]",
        "request/null-records*",
        lambda kafka, ours: kafka == "(absent)" and "UNKNOWN_SERVER_ERROR(-1)" in str(ours),
    ),
    Rule(
        "Kafka never reads again from that connection; fakebroker keeps it open, or closes it with acks=0",
        "[*].end",
        "request/null-records*",
        lambda kafka, ours: kafka == "silent" and ours in ("open", "closed"),
    ),
    Rule(
        "The token bucket fills up with time: throttle times differ by some milliseconds",
        "*.throttle_time",
        "quota-mutation/*",
        near(300),
    ),
    Rule("Each cluster generates its own topic ids", "*.topics[*].topic_id", "quota-mutation/*", both_texts),
    *(
        Rule(
            "The throttle time depends on the time since the first request: it differs by some milliseconds",
            "*.throttle_time",
            f"quota/{case}",
            near(300),
        )
        for case in ("two-in-a-row", "second-connection", "refused")
    ),
    *(
        Rule(
            "The Kafka cluster has the groups of other cases too; a replay has none",
            "[*].answers[*].says.groups.listed-v*",
            f"list-groups/filters-v{version}",
            lambda kafka, ours, own=f"listed-v{version}": only_kafka(kafka, ours) and own not in kafka["group_id"],  # type: ignore[misc]
        )
        for version in range(6)
    ),
)

# For the reports of clients: `case` is CLIENT/JOB, `path` is the place in its report. A rule that no longer applies is
# a difference too.
CLIENT_RULES: tuple[Rule, ...] = ()

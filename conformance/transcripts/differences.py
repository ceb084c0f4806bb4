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

# What Kafka in a box is given that says where it is, and that a broker here does not have or has otherwise.
_OF_A_BOX = (
    "listeners", "advertised.listeners", "log.dirs", "process.roles", "controller.quorum.voters",
    "controller.listener.names",
)  # fmt: skip
_OUR_OWN = [name for name, key in BrokerConfig.SETTINGS.items() if not key.is_kafkas]
_SERVED = registry.load().keys()

RULES: tuple[Rule, ...] = (
    *(
        Rule(
            "the clocks are two: a session lasts until the token expires",
            "*.says.session_lifetime",
            cases,
            lambda kafka, ours: both_numbers(kafka, ours) and min(kafka, ours) > 1_000_000_000_000,
        )
        for cases in ("sasl-oauth/*", "sasl-signed/*", "users-logins/oauth-*")
    ),
    *(
        Rule("the clocks are two: a token is made now", f"*.{field}_timestamp{behind}", cases, both_wall_times)
        for field, behind in (("issue", ""), ("expiry", ""), ("expiry", "_ms"), ("max", ""))
        for cases in ("sasl-token/create-*", "users-tokens/*")
    ),
    Rule(
        "each cluster gives ids of its own to tokens",
        "*.says.token_id",
        "sasl-token/create-*",
        lambda kafka, ours: both_texts(kafka, ours) and len(kafka) == len(ours),
    ),
    Rule(
        "the HMAC of a token is that of its id",
        "*.says.hmac",
        "sasl-token/create-*",
        lambda kafka, ours: both_texts(kafka, ours) and len(kafka) == len(ours),
    ),
    Rule(
        "a request that may not come now gets its error without Kafka's words for it",
        "*.says.error_message",
        "sasl-state/during-*",
    ),
    Rule("each broker has log directories of its own", "*.says.results[*].log_dir", "describe-log-dirs/*", both_texts),
    *(
        Rule(
            "Kafka tells of the disk, we of the memory",
            f"*.says.results[*].{field}",
            "describe-log-dirs/*",
            both_numbers,
        )
        for field in ("total_bytes", "usable_bytes")
    ),
    Rule("each cluster has an id of its own", "*.cluster_id", holds=both_texts),
    Rule("each cluster has ports of its own", "*.port", holds=both_numbers),
    Rule(
        "a broker of KRaft names any broker that runs as the controller",
        "*.controller_id",
        holds=lambda kafka, ours: both_numbers(kafka, ours) and min(kafka, ours) >= 1,
    ),
    Rule(
        "the clocks are two: when marks of deleted keys go is counted from when they were compacted (KIP-534)",
        "*.batches[*].base_timestamp_ms",
        "compaction/*",
        both_wall_times,
    ),
    Rule("with another time the batch has another CRC", "*.batches[*].crc", "compaction/*", both_numbers),
    Rule(
        "and the times of its records are told as distances from that",
        "*.batches[*].records",
        "compaction/*",
        lambda kafka, ours: both_texts(kafka, ours) and len(kafka) == len(ours),
    ),
    Rule(
        "in Kafka a Fetch ends with a segment; here there are none",
        "*.records.batches[*]",
        "compaction/*",
        lambda kafka, ours: kafka == "(absent)" and isinstance(ours, dict),
    ),
    Rule(
        "each cluster gives producer ids of its own",
        "*.producer_id",
        "producer-id/*",
        holds=lambda kafka, ours: both_numbers(kafka, ours) and min(kafka, ours) >= 0,
    ),
    *(
        Rule(
            "the clocks are two: when it began, when something was written",
            f"*.{field}",
            case,
            both_wall_times,
        )
        for case in ("transactions*", "compaction/transactions-*")
        for field in ("transaction_start_time", "last_timestamp", "timestamp")
    ),
    Rule("each cluster makes up ids of its own", "*.client_instance_id", "telemetry/new-id", both_texts),
    Rule(
        "the number of a subscription has the client's id in it", "*.subscription_id", "telemetry/new-id", both_numbers
    ),
    Rule(
        "fakebroker serves fewer APIs than Kafka, and advertises only what it serves",
        "*.says.api_keys.*",
        holds=lambda kafka, ours: only_kafka(kafka, ours) and kafka["api_key"] not in _SERVED,
    ),
    Rule(
        "features whose APIs are not served are not told",
        "*.says.*ed_features.*",
        holds=lambda kafka, ours: only_kafka(kafka, ours) and kafka["name"] not in supported_features(),
    ),
    Rule(
        "the epoch of features is an offset of Kafka's metadata",
        "*.says.finalized_features_epoch",
        holds=lambda kafka, ours: both_numbers(kafka, ours) and min(kafka, ours) > 0,
    ),
    *(
        Rule(
            "Kafka in a box is told not to roll segments, so that cases read a log at once; here there are none",
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
        "documentation of settings is told in our own words",
        "*.configs.*.documentation",
        "*",
        lambda kafka, ours: both_texts(kafka, ours) and bool(kafka) and bool(ours),
    ),
    *(
        Rule(
            "each cluster has ports, files and controllers of its own", f"*.configs.{name}.{field}", case, both_or_none
        )
        for name in _OF_A_BOX
        for field in ("value", "synonyms*", "config_source", "read_only", "documentation")
        for case in ("describe-configs/broker-v?", "alter-broker/*")
    ),
    *(
        Rule(
            "each cluster has ports, files and controllers of its own",
            f"*.configs.listeners.{field}",
            "alter-listeners/described",
            same_but_for_ports,
        )
        for field in ("value", "synonyms[*].value")
    ),
    Rule(
        "settings that Kafka does not have",
        "*.configs.*",
        "describe-configs/broker-v?",
        lambda kafka, ours: kafka == "(absent)" and isinstance(ours, dict) and ours["name"] in _OUR_OWN,
    ),
    *(
        Rule(
            "a replication factor is at most the number of brokers by default (docs/decisions.md)",
            f"*.configs.{name}.replication.factor.*",
            "describe-configs/broker-v?",
            lambda kafka, ours: (kafka, ours) == ("3", "1"),
        )
        for name in ("offsets.topic", "transaction.state.log")
    ),
    Rule(
        "Kafka in a box is told to log warnings only",
        "*.configs.root.value",
        holds=lambda kafka, ours: (kafka, ours) == ("WARN", "INFO"),
    ),
    Rule(
        "Java's words for a text that it cannot cut up; ours say what is wrong",
        "*.error_message",
        "alter-broker/connections-*",
        lambda kafka, ours: str(kafka).startswith("Error parsing configuration property") and bool(ours),
    ),
    Rule("each cluster gives topic ids of its own", "*.topics[*].topic_id", "create/*", both_texts),
    *(
        Rule("each cluster gives topic ids of its own", "*.topics[*].topic_id", f"{cases}/create-*", both_random_ids)
        for cases in ("authorization", "users-allowed")
    ),
    *(
        Rule(
            "Kafka prints its Java object of a request that is not allowed; ours says which API it was",
            "*.error_message",
            cases,
            same_refusal,
        )
        for cases in ("authorization/*", "users-*")
    ),
    Rule(
        "an id that a stream has made up may be one that one of the clusters had given",
        "*.batches[*].producer_id",
        "generated/*",
        lambda kafka, ours: both_numbers(kafka, ours) and min(kafka, ours) < producer(1) <= max(kafka, ours),
    ),
    Rule("and to topics that Metadata makes", "*.says.topics[*].topic_id", "generated/*", both_random_ids),
    Rule("each cluster gives topic ids of its own", "*.topics[*].topic_id", "describe-topic-partitions/*", both_texts),
    *(
        Rule("the ISR is a set: ours is in assignment order", "*.partitions[*].isr_nodes[*]", case, both_numbers)
        for case in ("reassign/*", "elect-leaders/*", "deaths*/*", "cuts/*")
    ),
    *(
        Rule(
            "the log of metadata is another one: ours counts decisions",
            f"*.topics[*].partitions[*].{field}",
            "describe-quorum/*",
            both_numbers,
        )
        for field in ("high_watermark", "current_voters[*].log_end_offset", "observers[*].log_end_offset")
    ),
    *(
        Rule("the clocks are two", f"*.partitions[*].{replicas}[*].{field}", "describe-quorum/*", both_wall_times)
        for replicas in ("current_voters", "observers")
        for field in ("last_fetch_timestamp", "last_caught_up_timestamp")
    ),
    Rule(
        "directories have no ids here",
        "*.observers[*].replica_directory_id",
        "describe-quorum/*",
        lambda kafka, ours: ours is None,
    ),
    Rule(
        "the clocks are two: what is allowed is told relative to the broker's time",
        "*.batch_index_error_message",
        holds=same_but_for_clocks,
    ),
    Rule(
        "the clocks are two: LogAppendTime is the broker's time", "*.log_append_time", "*append-time*", both_wall_times
    ),
    Rule(
        "the clocks are two: LogAppendTime is the largest timestamp of what is stored",
        "*.batches[*].max_timestamp_ms",
        "*append-time*",
        both_wall_times,
    ),
    Rule(
        "with another time the batch has another CRC",
        "*.batches[*].crc",
        "*append-time*",
        both_numbers,
    ),
    *(
        Rule(
            "two compression libraries: the same records take another number of bytes",
            f"*.batches[*].{field}",
            case,
            both_numbers,
        )
        for field in ("batch_length", "crc")
        for case in ("recompress/[!u]*", "*/recompressed*")  # what is stored uncompressed is the same
    ),
    Rule(
        "the clocks are two: LogAppendTime is found in what is stored", "*.timestamp", "*append-time*", both_wall_times
    ),
    *(
        Rule(
            "each cluster hands out producer ids of its own",
            "*.says.producer_id",
            case,
            lambda kafka, ours: both_numbers(kafka, ours) and min(kafka, ours) >= 0,
        )
        for case in ("generated/*", "found/*")
    ),
    Rule(
        "Kafka never answers null records, it fails while it builds the error: we say -1 (docs/decisions.md, 9)",
        "[*].answers[*]",
        "request/null-records*",
        lambda kafka, ours: kafka == "(absent)" and "UNKNOWN_SERVER_ERROR(-1)" in str(ours),
    ),
    Rule(
        "and so the connection goes on here; with acks=0 it is closed",
        "[*].end",
        "request/null-records*",
        lambda kafka, ours: kafka == "silent" and ours in ("open", "closed"),
    ),
    Rule(
        "a bucket of tokens fills up by the clock, to the millisecond of each side",
        "*.throttle_time",
        "quota-mutation/*",
        near(300),
    ),
    Rule("each cluster gives topic ids of its own", "*.topics[*].topic_id", "quota-mutation/*", both_texts),
    *(
        Rule(
            "a second request is judged by how long after the first it came, to the millisecond of each side",
            "*.throttle_time",
            f"quota/{case}",
            near(300),
        )
        for case in ("two-in-a-row", "second-connection", "refused")
    ),
    *(
        Rule(
            "a box has the groups of other cases as well, a replay has not",
            "[*].answers[*].says.groups.listed-v*",
            f"list-groups/filters-v{version}",
            lambda kafka, ours, own=f"listed-v{version}": only_kafka(kafka, ours) and own not in kafka["group_id"],  # type: ignore[misc]
        )
        for version in range(6)
    ),
    Rule(
        "a broker that stops is as one that is killed, not shut down in order: who waits there is cut off, without 6 "
        "(docs/kafka-map.md)",
        "[*].answers[*]",
        "stopped/leader",
        lambda kafka, ours: ours == "(absent)" and "NOT_LEADER_OR_FOLLOWER(6)" in str(kafka),
    ),
)

# For what clients saw: `case` is CLIENT/JOB, `path` is where in its report. A rule that no longer applies is told.
CLIENT_RULES: tuple[Rule, ...] = ()

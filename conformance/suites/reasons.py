"""Reasons why a test did not pass, in a few words: a missing API, a known sentence, or the test's own words."""

from __future__ import annotations

import re

from conformance.suites.results import Result
from conformance.suites.suite import LATE

_SHOWN = 160
# What a client says that has looked into ApiVersions, and does not even ask.
_NOT_OFFERED = re.compile(r"does not support the '(\w+)Request'|API does not support this version: (\w+)")
# By the name of a suite and of its test: what neither its output nor what it asked for tells.
_KNOWN = (
    (re.compile(r"^kgo(-tls)? .*Share"), "needs share groups, which are not served yet"),
    (
        re.compile(r"^kafka-go TestConsumerGroupWithGroupTopicsSingle"),
        "wants a topic that is created by itself to be unknown for some milliseconds more. Its twin of one topic, "
        "TestConsumerGroupWithTopic, loses this race on Apache Kafka as well",
    ),
    (
        re.compile(r"^kafka-go Test(ConsumerGroupWithTopic|RebalanceTooManyConsumers)$"),
        "subscribes to a topic that is made meanwhile, and does not always learn of it",
    ),
    (re.compile(r"^kafka-go TestConn$"), "a deleted topic may be told for a moment yet, a reader may come too late"),
    (
        re.compile(r"^kafka-go TestClientAlterConfigs$"),
        "describes a setting at once after it was altered, of which a broker of Kafka may not have heard yet",
    ),
    (
        re.compile(r"^confluent-kafka-go.* TestIntegration/TestAdmin(ACLs|Config)$"),
        "describes what it has changed at once after that, of which a broker of Kafka may not have heard yet",
    ),
    (re.compile(r"^kafka-go TestReaderOnNonZeroPartition$"), "writes to a topic that its leader does not know yet"),
    (re.compile(r"^kafka-go TestClientElectLeaders$"), "asks with a timeout of 0, which has passed: 7"),
    (
        re.compile(r"^confluent-kafka-go.* TestIntegration/TestAdminClient_UserScramCredentials$"),
        "describes a credential at once after it was deleted, which a broker of Kafka may not have heard of yet",
    ),
    (re.compile(r"^kafka-python .*::test_group$"), "the group is not stable within the test's own 15 s"),
    (re.compile(r"^watermill-kafka TestPublishSubscribe$"), "one of its parts ended at its own limit of time"),
    (re.compile(r"^kafka-go TestReaderConsumerGroup$"), "a nil pointer in the test itself, after the commits"),
    (re.compile(r"^kafka-go TestReaderReadCompactedMessage"), "segments of 200 bytes, which Kafka 4 refuses"),
    (re.compile(r"^kgo-tls TestIssue769$"), "has a dialer of its own, which kgo refuses beside TLS"),
)
# By what a test printed.
_REASONS = (
    (re.compile(r"docker|toxiproxy", re.IGNORECASE), "needs Docker"),
    (re.compile(r"SASL|SCRAM", re.IGNORECASE), "needs SASL"),
)
_TELLING = re.compile(r"^E   +\S.*|^(?!===).*(?:Error|error|panic|fail|FAIL|timed out|assert).*", re.MULTILINE)


def reason(result: Result, output: str, name: str = "") -> str:
    """`name` is the suite's and the test's."""
    for known, words in _KNOWN:
        if known.search(name):
            return words
    if result.refused:
        return f"asks for {', '.join(result.refused)}"
    if named := _NOT_OFFERED.search(output):
        return f"asks for {named[1] or named[2]}"
    for pattern, words in _REASONS:
        if pattern.search(output):
            return words
    telling = [line.strip() for line in _TELLING.findall(output) if line.strip()]
    said = telling[0][:_SHOWN] if telling else ""
    late = "takes longer than it may" if result.what == LATE else ""
    return ": ".join(filter(None, (late, said))).replace("|", "\\|") or result.what

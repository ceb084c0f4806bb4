"""Reasons why a test did not pass: a missing API, a known cause, or a line of the test's output."""

from __future__ import annotations

import re

from conformance.suites.results import Result
from conformance.suites.suite import LATE

_SHOWN = 160
# The error of a client that knows from ApiVersions that the broker does not serve an API, and sends no request.
_NOT_OFFERED = re.compile(r"does not support the '(\w+)Request'|API does not support this version: (\w+)")
# By the name of a suite and its test: causes that neither the output nor the refused requests show.
_KNOWN = (
    (re.compile(r"^kgo(-tls)? .*Share"), "the test needs share groups, which fakebroker does not serve yet"),
    (
        re.compile(r"^kafka-go TestConsumerGroupWithGroupTopicsSingle"),
        "the test needs an automatically created topic to be unknown for some milliseconds longer. "
        "TestConsumerGroupWithTopic, the same test with one topic, loses this race on Apache Kafka too",
    ),
    (
        re.compile(r"^kafka-go Test(ConsumerGroupWithTopic|RebalanceTooManyConsumers)$"),
        "the test subscribes to a topic while it is created, and the client does not always find it",
    ),
    (
        re.compile(r"^kafka-go TestConn$"),
        "a deleted topic may stay in the metadata for a moment, and a reader may be too late",
    ),
    (
        re.compile(r"^kafka-go TestClientAlterConfigs$"),
        "the test describes a setting right after it has altered it, when a broker may still have the old value",
    ),
    (
        re.compile(r"^confluent-kafka-go.* TestIntegration/TestAdmin(ACLs|Config)$"),
        "the test describes its change right after it was made, when a broker may still have the old state",
    ),
    (
        re.compile(r"^kafka-go TestReaderOnNonZeroPartition$"),
        "the test writes to a topic that its leader does not know yet",
    ),
    (
        re.compile(r"^kafka-go TestClientElectLeaders$"),
        "the request has a timeout of 0 ms, so it gets REQUEST_TIMED_OUT",
    ),
    (
        re.compile(r"^confluent-kafka-go.* TestIntegration/TestAdminClient_UserScramCredentials$"),
        "the test describes a credential right after its deletion, when a broker may still have it",
    ),
    (re.compile(r"^kafka-python .*::test_group$"), "the group is not stable within the test's own limit of 15 s"),
    (re.compile(r"^watermill-kafka TestPublishSubscribe$"), "one part of the test reached its own time limit"),
    (re.compile(r"^kafka-go TestReaderConsumerGroup$"), "the test itself fails with a nil pointer, after the commits"),
    (
        re.compile(r"^kafka-go TestReaderReadCompactedMessage"),
        "the test sets segments of 200 bytes, which Kafka 4 refuses",
    ),
    (re.compile(r"^kgo-tls TestIssue769$"), "the test sets its own dialer, which kgo refuses together with TLS"),
)
# By the output of a test.
_REASONS = (
    (re.compile(r"docker|toxiproxy", re.IGNORECASE), "the test needs Docker"),
    (re.compile(r"SASL|SCRAM", re.IGNORECASE), "the test needs SASL"),
)
_TELLING = re.compile(r"^E   +\S.*|^(?!===).*(?:Error|error|panic|fail|FAIL|timed out|assert).*", re.MULTILINE)


def reason(result: Result, output: str, name: str = "") -> str:
    """Return the reason. `name` has the names of the suite and of the test."""
    for known, words in _KNOWN:
        if known.search(name):
            return words
    if result.refused:
        return f"the test needs {', '.join(result.refused)}, which the broker does not serve"
    if named := _NOT_OFFERED.search(output):
        return f"the test needs {named[1] or named[2]}, which the broker does not serve"
    for pattern, words in _REASONS:
        if pattern.search(output):
            return words
    telling = [line.strip() for line in _TELLING.findall(output) if line.strip()]
    said = telling[0][:_SHOWN] if telling else ""
    late = "the test exceeds its time limit" if result.what == LATE else ""
    return ": ".join(filter(None, (late, said))).replace("|", "\\|") or result.what


def known_reasons() -> list[str]:
    """Return all reasons that are not a line of a test's output."""
    return [words for _, words in (*_KNOWN, *_REASONS)]

"""Errors of Kafka in the golden transcripts: by API, with the case, and whether that case then looked at the work
done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from conformance.transcripts.golden import Golden
from conformance.transcripts.recording import Heard
from conformance.transcripts.words import answer_words
from fakebroker.protocol.error_code import ErrorCode, kafka_name

_MEMBERS: Final = "JoinGroup SyncGroup Heartbeat LeaveGroup DescribeGroups ListGroups OffsetCommit OffsetFetch"
_TRANSACTION: Final = (
    "InitProducerId AddPartitionsToTxn AddOffsetsToTxn EndTxn DescribeTransactions ListTransactions Produce"
)
_OFFSETS: Final = "OffsetFetch OffsetCommit DescribeGroups"
_CONFIGS: Final = "DescribeConfigs AlterConfigs IncrementalAlterConfigs"
_TOPICS: Final = "Metadata DescribeTopicPartitions CreateTopics DeleteTopics CreatePartitions Produce"

# What shows what an API has done: answers of these, or a log that is read.
LOOKS: Final[Mapping[str, frozenset[str]]] = {
    api: frozenset(looks.split())
    for api, looks in {
        "Produce": "Produce Fetch ListOffsets DescribeProducers",
        "OffsetCommit": _OFFSETS,
        "TxnOffsetCommit": f"{_OFFSETS} TxnOffsetCommit EndTxn",
        "OffsetDelete": f"{_OFFSETS} OffsetDelete",
        "DeleteGroups": f"{_OFFSETS} ListGroups DeleteGroups",
        "JoinGroup": _MEMBERS,
        "SyncGroup": _MEMBERS,
        "Heartbeat": _MEMBERS,
        "LeaveGroup": _MEMBERS,
        "ConsumerGroupHeartbeat": "ConsumerGroupDescribe ConsumerGroupHeartbeat OffsetFetch",
        "InitProducerId": _TRANSACTION,
        "AddPartitionsToTxn": _TRANSACTION,
        "AddOffsetsToTxn": _TRANSACTION,
        "EndTxn": _TRANSACTION,
        "WriteTxnMarkers": "Fetch ListOffsets DescribeProducers WriteTxnMarkers",
        "CreateTopics": _TOPICS,
        "DeleteTopics": _TOPICS,
        "CreatePartitions": _TOPICS,
        "DeleteRecords": "ListOffsets DeleteRecords Fetch",
        "AlterConfigs": _CONFIGS,
        "IncrementalAlterConfigs": _CONFIGS,
        "ElectLeaders": "Metadata ElectLeaders",
        "AlterPartitionReassignments": "ListPartitionReassignments Metadata AlterPartitionReassignments",
        "AlterClientQuotas": "DescribeClientQuotas AlterClientQuotas",
        "AlterUserScramCredentials": "DescribeUserScramCredentials AlterUserScramCredentials",
    }.items()
}

_NAMES: Final[dict[int, str]] = {int(code.value): kafka_name(code) for code in ErrorCode}


class Shown(NamedTuple):
    """A case in which Kafka has answered it, and whether the case looked afterwards."""

    case: str
    looks: bool


Seen = dict[tuple[str, str], list[Shown]]  # by API and error


def seen(kept: Iterable[Golden]) -> Seen:
    """All that is kept. Cases that looked stand first, then by name."""
    cases_by_pair: dict[tuple[str, str], dict[str, bool]] = {}
    for golden in kept:
        open_pairs: set[tuple[str, str]] = set()  # told already, and not looked at yet
        for step in golden.kafka:
            if not isinstance(step, Heard):
                for pair in open_pairs:
                    cases_by_pair[pair][golden.case] = True
                open_pairs.clear()
                continue
            for answer in step.answers:
                if answer.to is None:
                    continue
                words = answer_words(answer)
                api = str(words["to"]).split(" ", 1)[0]
                looked = {pair for pair in open_pairs if api in LOOKS.get(pair[0], ())}
                for pair in looked:
                    cases_by_pair[pair][golden.case] = True
                open_pairs -= looked
                for error in _errors(api, words["says"]):
                    cases = cases_by_pair.setdefault((api, error), {})
                    cases.setdefault(golden.case, False)
                    if not cases[golden.case]:
                        open_pairs.add((api, error))
    return {
        pair: [Shown(case, looks) for case, looks in sorted(cases.items(), key=lambda entry: (not entry[1], entry[0]))]
        for pair, cases in cases_by_pair.items()
    }


def _errors(api: str, says: Any) -> set[str]:
    """Return the names of all errors in an answer, wherever. Any request that comes in the middle of a login gets
    ILLEGAL_SASL_STATE: it is an error of the two APIs of logins alone."""
    names = (_name(value) for value in _codes(says))
    of_a_login = set() if api.startswith("Sasl") else {"ILLEGAL_SASL_STATE"}
    return {name for name in names if name != "NONE"} - of_a_login


def _codes(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for name, item in value.items():
            if name.endswith("error_code"):
                yield item
            else:
                yield from _codes(item)
    elif isinstance(value, list):
        for item in value:
            yield from _codes(item)


def _name(value: Any) -> str:
    """ "NOT_COORDINATOR(16)", or a number where the message knows no error."""
    return _NAMES.get(value, str(value)) if isinstance(value, int) else str(value).split("(", 1)[0]

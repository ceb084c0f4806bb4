"""The table of faults, docs/errors.md and what Kafka has answered say the same."""

from __future__ import annotations

import pytest
from support import kept

from conformance.errors.after import AFTER
from conformance.errors.asked import LOOKS, Seen, seen
from conformance.errors.page import AFTER_WORK, BEFORE_WORK, PAGE, Origin, named, origins, page, read, rows
from conformance.errors.reasons import reason, unused
from fakebroker.apis.errors import KNOWN
from fakebroker.core.faults.table import table

WRITE = "`python -m conformance.errors --write` writes docs/errors.md"
# It tells an id that the coordinator has made up and keeps: only the work does.
LEFT_OUT = {("JoinGroup", "MEMBER_ID_REQUIRED")}
NO_CODE = "none"  # CreateTopics has a field for the error of configs, which is 0
# APIs with a case that looked at the state, for each error that Kafka has shown.
LOOKED_AT = {
    *("Produce", "OffsetCommit", "JoinGroup", "SyncGroup", "Heartbeat", "ConsumerGroupHeartbeat", "InitProducerId"),
    *("AddPartitionsToTxn", "EndTxn", "TxnOffsetCommit", "CreateTopics"),
}

NOTHING_THERE = {("TxnOffsetCommit", "COORDINATOR_NOT_AVAILABLE", BEFORE_WORK)}  # for want of a topic to look at


pytestmark = pytest.mark.one_process  # they read all answers once


@pytest.fixture(scope="module")
def answered() -> Seen:
    return seen(kept.answers())


@pytest.fixture(scope="module")
def told() -> list[Origin]:
    return read()


def test_every_row_has_its_origin(told: list[Origin]) -> None:
    assert [origin[:3] for origin in told] == rows(), WRITE
    for origin in told:
        assert origin.said != "-", (
            f"{origin.api} {origin.error}, {origin.place}: no case shows it, and no reason is given"
        )


def test_every_case_that_is_named_shows_it(told: list[Origin], answered: Seen) -> None:
    for origin in told:
        if origin.case:
            cases = {shown.case for shown in answered.get((origin.api, origin.error), ())}
            assert origin.case in cases, f"{origin.case} does not show {origin.error} of {origin.api}. {WRITE}"


def test_a_row_with_a_reason_is_shown_by_no_case(told: list[Origin], answered: Seen) -> None:
    for origin in told:
        if not origin.case and origin.place != AFTER_WORK:
            cases = [shown.case for shown in answered.get((origin.api, origin.error), ())]
            assert set(cases) <= {AFTER.get((origin.api, origin.error))}, f"{cases[0]} shows {origin}. {WRITE}"


def test_kafka_answers_nothing_that_the_table_lacks(answered: Seen) -> None:
    for (api, error), shown in answered.items():
        if error != NO_CODE and (api, error) not in LEFT_OUT:
            assert error in table()[api].before | table()[api].after, f"{api} answers {error} in {shown[0].case}"


def test_the_page_is_as_it_would_be_written(told: list[Origin], answered: Seen) -> None:
    origins_ = origins(answered, named(told))
    assert page(origins_) == PAGE.read_text(), WRITE


def test_what_has_been_done_was_looked_at(told: list[Origin], answered: Seen) -> None:
    for origin in told:
        if origin.api in LOOKED_AT and origin.case and origin[:3] not in NOTHING_THERE:
            shown = {shown_.case: shown_.looks for shown_ in answered[origin.api, origin.error]}
            assert shown[origin.case], (
                f"{origin.case} does not look at what there is behind {origin.error} of {origin.api}"
            )


def test_no_reason_and_no_case_is_left_over(answered: Seen) -> None:
    assert unused({pair for pair in answered if pair not in AFTER}) == []
    for api, error in AFTER:
        assert error in table()[api].after, (api, error)
    assert set(LOOKS) <= set(table())


def test_a_case_that_is_named_stays(answered: Seen) -> None:
    cases = [shown.case for shown in answered["Produce", "NOT_ENOUGH_REPLICAS"]]
    place = ("Produce", "NOT_ENOUGH_REPLICAS", BEFORE_WORK)
    for case in (cases[0], cases[-1]):
        [origin] = [found_origin for found_origin in origins(answered, {place: case}) if found_origin[:3] == place]
        assert origin.case == case
    [origin] = [found_origin for found_origin in origins(answered, {place: "gone/away"}) if found_origin[:3] == place]
    assert origin.case == cases[0]


def test_reasons_are_few_words() -> None:
    assert reason("ListGroups", "CLUSTER_AUTHORIZATION_FAILED") == KNOWN
    assert reason("CreateDelegationToken", "INVALID_PRINCIPAL_TYPE") == "needs delegation tokens"
    assert reason("Fetch", "NOT_THERE") == ""
    assert all(len(reason(api, error).split()) <= 15 for api, error, _ in rows())

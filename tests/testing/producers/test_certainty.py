"""Errors that say that nothing was written: the same as in the table of completed work."""

from __future__ import annotations

from conformance.errors.page import AFTER_WORK, BEFORE_WORK, read
from fakebroker.protocol.error_code import error_from_name
from fakebroker.testing.producers.certainty import CERTAINTY, is_definite

# Nothing is written when it is answered, but a batch with these sequences was before.
WRITTEN_BEFORE = {"DUPLICATE_SEQUENCE_NUMBER"}
OF_CLIENTS = {"NETWORK_EXCEPTION"}


def told(place: str) -> set[str]:
    return {certainty.error for certainty in read() if certainty.api == "Produce" and certainty.place == place}


def test_what_is_answered_behind_the_work_leaves_it_open() -> None:
    assert {error for error, row in CERTAINTY.items() if not row.is_definite} == (
        told(AFTER_WORK) | WRITTEN_BEFORE | OF_CLIENTS
    )


def test_what_is_answered_before_the_work_alone_is_definite() -> None:
    definite = {error for error, row in CERTAINTY.items() if row.is_definite}
    assert definite == told(BEFORE_WORK) - told(AFTER_WORK) - WRITTEN_BEFORE


def test_each_row_is_an_error_of_kafka_and_has_its_source() -> None:
    for error, row in CERTAINTY.items():
        assert error_from_name(error)
        assert row.source


def test_only_of_what_was_sent_once() -> None:
    assert is_definite("NOT_ENOUGH_REPLICAS")
    assert not is_definite("NOT_ENOUGH_REPLICAS", tries=2)
    assert not is_definite("REQUEST_TIMED_OUT")
    assert not is_definite("_MSG_TIMED_OUT")
    assert not is_definite("")

from __future__ import annotations

import pytest

from fakebroker.protocol.error_code import ErrorCode, error_from_name, kafka_name


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (-1, "UNKNOWN_SERVER_ERROR"),
        (0, "NONE"),
        (7, "REQUEST_TIMED_OUT"),
        (19, "NOT_ENOUGH_REPLICAS"),
        (20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND"),
        (133, "SHARE_SESSION_LIMIT_REACHED"),
    ],
)
def test_names(code: int, name: str) -> None:
    assert kafka_name(code) == name
    assert error_from_name(name) == code
    assert error_from_name(name.lower()) is ErrorCode(code)


def test_every_code_has_a_name_that_leads_back() -> None:
    assert [error_from_name(kafka_name(code)) for code in ErrorCode] == list(ErrorCode)


@pytest.mark.parametrize("code", [-2, 134, 999])
def test_numbers_kafka_does_not_have(code: int) -> None:
    assert kafka_name(code) == f"UNKNOWN({code})"


def test_names_kafka_does_not_have() -> None:
    with pytest.raises(ValueError, match="'NO_SUCH_ERROR'"):
        error_from_name("NO_SUCH_ERROR")

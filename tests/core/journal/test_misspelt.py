"""Names of topics that are probably misspelt (core/journal/misspelt.py)."""

from __future__ import annotations

import pytest

from fakebroker.core.journal.misspelt import meant_by


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("odrers", "orders"),
        ("order", "orders"),
        ("orderss", "orders"),
        ("rders", "orders"),
        ("ordets", "orders"),
        ("Orders", "orders"),
        ("ordesr", "orders"),
        ("my_topic", "my-topic"),
        ("mytopic", "my-topic"),
        ("myTopic", "my.topic"),
        ("payments-v1.odrers", "payments-v1.orders"),
        ("bestellüng", "bestellung"),
    ],
)
def test_a_slip(name: str, meant: str) -> None:
    assert meant_by(name, ["other", meant]) == meant
    assert meant_by(meant, ["other", name]) == name


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("orders", "orders-dlq"),
        ("orders", "orders.DLT"),
        ("orders-1", "orders-2"),
        ("orders", "orders2"),
        ("orders-a", "orders-b"),
        ("orders-in", "orders-out"),
        ("a", "b"),
        ("t", "tt"),
        ("in", "on"),
        ("payments-v1", "payments-v2"),
        ("odrers-v1", "orders-v2"),
        ("orders", "payments"),
        ("orders", "redros"),
        ("odrers-paymetns", "orders-payments"),
        ("1", "_"),
        ("_", "."),
    ],
)
def test_topics_of_their_own(name: str, other: str) -> None:
    assert meant_by(name, [other]) is meant_by(other, [name]) is None


def test_a_name_that_is_known_is_no_slip() -> None:
    assert meant_by("order", ["order", "orders"]) is None


def test_the_first_of_several_similar_names_is_suggested() -> None:
    assert meant_by("ordes", {"orders", "order"}) == "order"

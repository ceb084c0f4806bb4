"""The kept results of both sides, their differences, and the page."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.clients.exactly_once import page
from conformance.clients.exactly_once.chain import Outcome
from conformance.clients.exactly_once.kept import KAFKA, OURS, Kept, differences
from conformance.clients.exactly_once.kinds import Result
from conformance.clients.exactly_once.proxy import Proxy

RIGHT = Outcome("0 before EndTxn: it is killed", seen=[1, 1], written=[2, 2], consumed=2, errors=["silence"])


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    kept = Kept(tmp_path / "kept.json")
    kept.put(
        OURS,
        "librdkafka",
        2,
        "transaction markers are delayed",
        Result([RIGHT, Outcome("torn", seen=[1, 0])], {"when": "then"}),
    )
    kept.put(KAFKA, "librdkafka", 2, "transaction markers are delayed", Result(broken="how"))
    result = Kept(tmp_path / "kept.json").get(OURS, "librdkafka", 2, "transaction markers are delayed")
    assert result is not None
    assert [outcome.name for outcome in result.wrong] == ["torn"]
    assert (result.outcomes[0].written, result.notes) == ([2, 2], {"when": "then"})
    assert kept.get(OURS, "librdkafka", 1, "transaction markers are delayed") is None


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (replace(RIGHT, met=False), "met"),
        (replace(RIGHT, seen=[1, 2]), "read_committed"),
        (replace(RIGHT, written=[2, 1]), "read_uncommitted"),
        (replace(RIGHT, consumed=1), "consumed"),
        (replace(RIGHT, errors=[]), "errors"),
    ],
)
def test_each_difference_is_told_with_its_point(other: Outcome, what: str) -> None:
    assert list(differences("aiokafka", "k", Result([RIGHT]), Result([RIGHT]))) == []
    [difference] = differences("aiokafka", "k", Result([RIGHT]), Result([other]))
    assert (difference.where, difference.what, difference.reason) == (RIGHT.name, what, None)


def test_what_was_seen_on_the_way_and_what_broke_is_compared_as_well() -> None:
    [note] = differences("aiokafka", "k", Result(notes={"w": "a"}), Result(notes={"w": "b"}))
    assert str(note) == "k: w: a on fakebroker, b on Apache Kafka"
    [broken] = differences("aiokafka", "k", Result(broken="how"), Result([RIGHT]))
    assert (broken.what, broken.ours, broken.kafka) == ("broken", "how", "no")


def test_the_page_has_a_line_for_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "PAGE", tmp_path / "page.md")
    kept = Kept(tmp_path / "kept.json")
    for side in (OURS, KAFKA):
        kept.put(side, "aiokafka", 2, "transaction markers are delayed", Result([RIGHT], {"w": side}))
    kept.put(OURS, "aiokafka", 1, "programs crash", Result([RIGHT]))
    page.write_page(kept, ["aiokafka"])
    written = (tmp_path / "page.md").read_text()
    assert "- aiokafka, version 1: workers join and crash, leaders move and restart" in written
    assert "| aiokafka | 2 | transaction markers are delayed | 1, 1 | 1, 1 | 1, 1 | 0, 0 | 1 | 1 |" in written
    assert "| aiokafka | 1 | programs crash | 1, – | 1, – | 1, – | 0, – | – | – |" in written
    assert "w: fakebroker on fakebroker, Apache Kafka on Apache Kafka" in written


def test_the_text_of_the_page_is_that_of_its_generator() -> None:
    text = page.PAGE.read_text().splitlines()
    assert text[: len(page.head())] == page.head()
    assert "## Delayed transaction markers" in text


def test_results_of_an_earlier_version_have_the_names_of_today(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    name = "0 before the answer to Produce: the coordinator of groups stops and starts"
    note = {"when it goes on": "committed {0: 1}, all {0: 2}, marks {0: 3}"}
    Kept(path).put(OURS, "aiokafka", 2, "marks wait", Result([replace(RIGHT, name=name)], note))
    result = Kept(path).get(OURS, "aiokafka", 2, "transaction markers are delayed")
    assert result is not None
    assert [outcome.name for outcome in result.outcomes] == [
        "0 before the response to Produce: the group coordinator stops and starts"
    ]
    assert result.notes == {
        "after the follower resumed": "read_committed {0: 1}, read_uncommitted {0: 2}, markers {0: 3}"
    }


def test_the_proxy_resets_connections_to_a_dead_broker() -> None:
    """A connection that is closed in order some clients take for a broker that speaks another protocol."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        dead = f"127.0.0.1:{unused.getsockname()[1]}"
        with Proxy(dead) as proxy:
            host, _, port = proxy.bootstrap_servers.rpartition(":")
            # the reset may come before connect has returned: then it is connect that tells it
            with pytest.raises(ConnectionResetError), socket.create_connection((host, int(port)), 10) as client:
                client.recv(1)

"""franz-go over AWS_MSK_IAM (pkg/sasl/aws), with the settings of `client_settings`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.client_programs import program
from support.msk_iam import ACCESS_KEY, CREDENTIALS, REGION, SECRET
from support.watchdog import LIMIT_S

from conformance.clients.builds import SECURED
from conformance.clients.process import ClientProcess
from fakebroker import FakeCluster
from fakebroker.core.journal.events import Login

pytestmark = [pytest.mark.languages, pytest.mark.clients, pytest.mark.slow]

TOPIC = "orders"


@pytest.fixture(scope="module")
def kafka() -> Iterator[FakeCluster]:
    with FakeCluster(brokers=1, listeners=["SASL_SSL"], config=CREDENTIALS) as cluster:
        cluster.create_topic(TOPIC, partitions=1)
        yield cluster


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[ClientProcess]:
    monkeypatch.setenv("AWS_REGION", REGION)
    [client] = [client_ for client_ in SECURED if client_.name == "franz-go"]
    command, folder = program(client)
    with ClientProcess(command, folder, {"do": "nothing"}, 20 * LIMIT_S) as process_:
        assert "value" not in process_.hear(), "it knows no such play"
        yield process_


def play(kafka: FakeCluster, process: ClientProcess, secret: str) -> dict[str, str]:
    settings = kafka.client_settings("franz-go", mechanism="AWS_MSK_IAM", user=ACCESS_KEY, password=secret)
    process.say({"do": "round trip", "settings": settings, "topic": TOPIC, "value": "signed"})
    return process.hear()


def test_a_record_comes_back_over_signed_logins(kafka: FakeCluster, process: ClientProcess) -> None:
    kafka.journal.clear()
    assert play(kafka, process, SECRET) == {"value": "signed"}
    logins = {(event.mechanism, event.principal) for event in kafka.journal if isinstance(event, Login)}
    assert logins == {("AWS_MSK_IAM", f"User:{ACCESS_KEY}")}


def test_a_wrong_secret_is_refused_with_the_text_of_the_broker(kafka: FakeCluster, process: ClientProcess) -> None:
    result = play(kafka, process, "wrong")
    assert result["error"] == "SASL_AUTHENTICATION_FAILED"
    assert "Access denied: x-amz-signature is wrong" in result["text"]
    assert SECRET not in result["text"]

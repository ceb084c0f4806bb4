"""Settings for a login that lacks its password."""

import pytest

from fakebroker import FakeCluster


def test_settings_for_a_user_without_a_password_are_refused() -> None:
    with (
        FakeCluster(brokers=1, listeners=["SASL_PLAINTEXT"]) as kafka,
        pytest.raises(ValueError, match="give user and password"),
    ):
        kafka.client_settings("confluent", user="alice")

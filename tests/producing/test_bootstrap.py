"""Values of `bootstrap.servers`."""

from __future__ import annotations

import pytest

from fakebroker.producer.errors import ProducerConfigError
from fakebroker.producing.bootstrap import parse_bootstrap


def test_addresses_are_read() -> None:
    assert parse_bootstrap("a:1, [::1]:9092,") == [("a", 1), ("::1", 9092)]
    assert parse_bootstrap(["a:1", "b:65535"]) == [("a", 1), ("b", 65_535)]


@pytest.mark.parametrize("servers", ["", ",", None, "a", ":1", "a:x", "a:65536", "a:-1"])
def test_what_is_no_address_is_refused(servers: object) -> None:
    with pytest.raises(ProducerConfigError):
        parse_bootstrap(servers)

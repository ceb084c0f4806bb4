"""The setting `fakebroker.aws.msk.iam.credentials` (core/iam_access_keys.py)."""

from __future__ import annotations

import pytest

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.config.config_helper import BrokerConfigLayers
from fakebroker.core.errors import ConfigError
from fakebroker.core.iam_access_keys import CREDENTIALS, parse_access_keys


def test_an_entry_has_an_access_key_and_a_secret_and_may_have_a_user() -> None:
    keys = parse_access_keys("AKID:a+b/c=, B:s:alice,C_1:x:arn:aws:iam::1:user/carol")
    assert keys == {
        "AKID": ("a+b/c=", "AKID"),
        "B": ("s", "alice"),
        "C_1": ("x", "arn:aws:iam::1:user/carol"),
    }
    assert parse_access_keys("") == {}


@pytest.mark.parametrize("prefix", ["", "listener.name.sasl_ssl.", "listener.name.sasl_ssl.aws_msk_iam."])
@pytest.mark.parametrize(
    ("entries", "number"),
    [
        ("AKID", 1),
        ("AKID:", 1),
        (":hidden", 1),
        ("AK/ID:hidden", 1),
        ("AKID:hidden:", 1),
        ("AKID:hidden:a b", 1),
        ("A:hidden,", 2),
        ("A:hidden,,B:hidden", 2),
        ("A:hidden,B", 2),
        ("ÄKID:hidden", 1),
        ("A:hïdden", 1),
    ],
)
def test_another_form_is_refused_by_its_place_and_without_the_secret(prefix: str, entries: str, number: int) -> None:
    with pytest.raises(ConfigError, match=f"entry {number} is not ACCESSKEY:SECRET or") as refused:
        BrokerConfig().with_text({prefix + CREDENTIALS: entries})
    assert "hidden" not in str(refused.value)


def test_an_access_key_has_one_entry() -> None:
    with pytest.raises(ConfigError, match="AKID has two entries") as refused:
        BrokerConfig().with_text({CREDENTIALS: "AKID:hidden,B:hidden,AKID:hidden"})
    assert "hidden" not in str(refused.value)


def test_descriptions_of_settings_hide_it() -> None:
    config = BrokerConfig().with_text({CREDENTIALS: "AKID:hidden"})
    descriptions = list(BrokerConfigLayers(config, {}, {CREDENTIALS: "B:hidden"}, {}).describe())
    assert [
        (description.value, description.is_sensitive) for description in descriptions if description.name == CREDENTIALS
    ] == [(None, True)]
    assert "hidden" not in repr(descriptions)

"""The text of sasl.jaas.config is cut up as Java does it (core/security/sasl/jaas_config.py)."""

from __future__ import annotations

import pytest

from fakebroker.core.errors import ConfigError
from fakebroker.core.security.sasl.jaas_config import parse_login_module


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ("", {}),
        ('user_alice="secret"', {"user_alice": "secret"}),
        ("user_alice='a\"b' user_bob=word", {"user_alice": 'a"b', "user_bob": "word"}),
        ('a="x\\"y\\\\" b="\\t\\101\\q"', {"a": 'x"y\\', "b": "\tAq"}),
        ('/* no="1" */ a="1" // b="2"\n c=\'3\'', {"a": "1", "c": "3"}),
        ("user_é=ü a-b.c$1=x-1.y", {"user_é": "ü", "a-b.c$1": "x-1.y"}),
        ('a="" \n b = "semi;colon"', {"a": "", "b": "semi;colon"}),
        ('a="1" a="2"', {"a": "2"}),
    ],
)
def test_options_are_words_and_quoted_texts(options: str, found: dict[str, str]) -> None:
    assert parse_login_module(f"a.b.Module required {options};") == ("a.b.Module", found)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Login module not specified in JAAS config"),
        ("// a.Module required;", "Login module not specified in JAAS config"),
        ("a.Module", "Login module control flag not specified in JAAS config"),
        ("a.Module ;", "Login module control flag is not available in the JAAS config"),
        ("a.Module must;", "Invalid login module control flag 'must' in JAAS config"),
        ("a.Module required", "JAAS config entry not terminated by semi-colon"),
        ('a.Module required a="1"', "JAAS config entry not terminated by semi-colon"),
        ('a.Module required a "1";', "Value not specified for key 'a' in JAAS config"),
        ("a.Module required a=1;", "Value not specified for key 'a' in JAAS config"),
        ("a.Module required a=-b;", "Value not specified for key 'a' in JAAS config"),
        ("a.Module required a=;", "Value not specified for key 'a' in JAAS config"),
        ("a.M required; b.M required;", "JAAS config property contains 2 login modules, should be 1 module"),
    ],
)
def test_other_texts_are_refused_with_the_message_of_kafka(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_login_module(text)
    assert refused.value.message == message


@pytest.mark.parametrize("flag", ["REQUIRED", "requisite", "Sufficient", "optional"])
def test_each_control_flag_is_accepted(flag: str) -> None:
    assert parse_login_module(f"a.Module {flag};").name == "a.Module"


def test_modules_that_look_up_names_are_refused() -> None:
    with pytest.raises(ConfigError, match="JndiLoginModule is not allowed"):
        parse_login_module("com.sun.security.auth.module.JndiLoginModule required;")

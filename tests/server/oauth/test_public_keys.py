"""The choice of the key that verifies a token (server/oauth/public_keys.py)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

pytest.importorskip("joserfc", reason="the extra security is not installed")

from support.key_sets import ACCEPTED, CHOICES, CLAIMS, MISSING, REFUSED, set_and_token

from fakebroker.core.security.sasl.oauth_bearer import TokenRefused
from fakebroker.server.oauth.jwks import parse_keys, verify_with


@pytest.mark.filterwarnings("ignore:Key size should be")
@pytest.mark.parametrize("name", CHOICES)
def test_the_key_of_a_token_is_the_one_that_jose4j_takes(name: str) -> None:
    keys, token, result = set_and_token(name)
    missing: list[object] = []
    try:
        claims: Mapping[str, Any] = verify_with(
            parse_keys(json.dumps({"keys": keys}).encode(), "here")[0], token, missing.append
        )
        outcome = ACCEPTED
        assert claims == CLAIMS
    except TokenRefused:
        outcome = MISSING if missing else REFUSED
    assert outcome == result

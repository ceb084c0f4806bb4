"""Delegation tokens with an authorizer: tokens for other owners, and tokens of others."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.asking import ask
from support.simulation import SimulatedClient, Simulation

from fakebroker.core.config.broker_configs.security import STANDARD_AUTHORIZER
from fakebroker.core.security.identity import KafkaPrincipal, Listener
from fakebroker.protocol.error_code import ErrorCode

CREATE_ACLS, CREATE, DESCRIBE = 30, 38, 41
TOKEN_RESOURCE, USER_RESOURCE = 6, 7
DESCRIBE_IT, CREATE_TOKENS, DESCRIBE_TOKENS = 8, 13, 14
CONFIG = {
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "super.users": "User:admin",
    "delegation.token.secret.key": "secret",
}


@pytest.fixture
def simulation() -> Simulation:
    return Simulation(config=CONFIG)


def client(simulation: Simulation, user: str) -> SimulatedClient:
    """Connect a client that has authenticated by a certificate."""
    connected = simulation.connect(listener=Listener("SSL", "SSL"))
    connected.connection.principal = KafkaPrincipal("User", user)
    return connected


def allow(simulation: Simulation, kind: int, name: str, operation: int) -> None:
    """Allow alice the operation."""
    creation = {
        "resource_type": kind,
        "resource_name": name,
        "resource_pattern_type": 3,
        "principal": "User:alice",
        "host": "*",
        "operation": operation,
        "permission_type": 3,
    }
    [result] = ask(client(simulation, "admin"), CREATE_ACLS, 3, creations=[creation]).results
    assert result.error_code == ErrorCode.none


def create(asking: SimulatedClient, owner: str | None = None, renewers: tuple[str, ...] = ()) -> Any:
    return ask(
        asking,
        CREATE,
        3,
        owner_principal_type=None if owner is None else "User",
        owner_principal_name=owner,
        renewers=[{"principal_type": "User", "principal_name": name} for name in renewers],
        max_lifetime=timedelta(days=1),
    )


def owners_seen(asking: SimulatedClient, owners: Any = None) -> list[str]:
    answer = ask(asking, DESCRIBE, 3, owners=owners)
    assert answer.error_code == ErrorCode.none
    return sorted(token.principal_name for token in answer.tokens)


def test_a_token_for_another_owner_takes_an_acl_on_that_user(simulation: Simulation) -> None:
    alice = client(simulation, "alice")
    assert create(alice).error_code == ErrorCode.none, "its own takes none"
    assert create(alice, "alice").error_code == ErrorCode.none
    refused = create(alice, "bob")
    assert (refused.error_code, refused.token_id) == (ErrorCode.delegation_token_authorization_failed, "")
    assert (refused.principal_name, refused.token_requester_principal_name) == ("bob", "alice")
    allow(simulation, USER_RESOURCE, "User:bob", CREATE_TOKENS)
    assert create(alice, "bob").error_code == ErrorCode.none
    assert create(alice, "carol").error_code == ErrorCode.delegation_token_authorization_failed


def test_tokens_of_others_are_hidden_without_an_acl(simulation: Simulation) -> None:
    tokens = {name: create(client(simulation, name)) for name in ("bob", "carol", "dave")}
    create(client(simulation, "erin"), renewers=("alice",))
    alice = client(simulation, "alice")
    assert owners_seen(alice) == ["erin"], "a renewer sees it"
    allow(simulation, TOKEN_RESOURCE, tokens["bob"].token_id, DESCRIBE_IT)
    assert owners_seen(alice) == ["bob", "erin"]
    allow(simulation, USER_RESOURCE, "User:carol", DESCRIBE_TOKENS)
    assert owners_seen(alice) == ["bob", "carol", "erin"]
    assert owners_seen(alice, [{"principal_type": "User", "principal_name": "bob"}]) == ["bob"]
    assert owners_seen(alice, [{"principal_type": "User", "principal_name": "dave"}]) == []
    assert owners_seen(client(simulation, "admin")) == ["bob", "carol", "dave", "erin"]

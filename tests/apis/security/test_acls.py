"""DescribeAcls, CreateAcls and DeleteAcls, every version: there is no authorizer (apis/security/)."""

from __future__ import annotations

from typing import Any

import pytest
from support.asking import ask, served_versions
from support.requests import request
from support.simulation import SimulatedClient, Simulation

DESCRIBE_ACLS, CREATE_ACLS, DELETE_ACLS = 29, 30, 31
SECURITY_DISABLED = 54
ACL: dict[str, Any] = {
    "resource_type": 2,
    "resource_name": "t",
    "resource_pattern_type": 3,
    "principal": "User:u",
    "host": "*",
    "operation": 3,
    "permission_type": 3,
}
FILTER: dict[str, Any] = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


@pytest.fixture
def client() -> SimulatedClient:
    return Simulation().connect()


@pytest.mark.parametrize("version", served_versions(DESCRIBE_ACLS))
def test_nothing_is_described(client: SimulatedClient, version: int) -> None:
    answer = ask(client, DESCRIBE_ACLS, version, **FILTER)
    assert (answer.error_code, answer.error_message) == (
        SECURITY_DISABLED,
        "No Authorizer is configured on the broker",
    )
    assert answer.resources == ()


@pytest.mark.parametrize("version", served_versions(CREATE_ACLS))
def test_each_is_refused(client: SimulatedClient, version: int) -> None:
    answer = ask(client, CREATE_ACLS, version, creations=[ACL, ACL])
    assert [(result.error_code, result.error_message) for result in answer.results] == [
        (SECURITY_DISABLED, "No Authorizer is configured.")
    ] * 2
    assert ask(client, CREATE_ACLS, version, creations=[]).results == ()


@pytest.mark.parametrize("version", served_versions(DELETE_ACLS))
def test_each_filter_is_refused(client: SimulatedClient, version: int) -> None:
    answer = ask(client, DELETE_ACLS, version, filters=[FILTER, FILTER, FILTER])
    assert [(result.error_code, result.error_message) for result in answer.filter_results] == [
        (SECURITY_DISABLED, "No Authorizer is configured.")
    ] * 3


@pytest.mark.parametrize("field", ["resource_type_filter", "pattern_type_filter", "operation", "permission_type"])
def test_a_filter_of_no_kind_ends_the_connection(field: str) -> None:
    for key, values in ((DESCRIBE_ACLS, FILTER | {field: 0}), (DELETE_ACLS, {"filters": [FILTER | {field: 0}]})):
        client = Simulation().connect()
        client.send(request(key, 3, values))
        assert client.closed is not None


@pytest.mark.parametrize("field", ["resource_type", "resource_pattern_type", "operation", "permission_type"])
def test_an_entry_of_no_kind_ends_the_connection(client: SimulatedClient, field: str) -> None:
    client.send(request(CREATE_ACLS, 3, {"creations": [ACL, ACL | {field: 0}]}))
    assert client.closed is not None

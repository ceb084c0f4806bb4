"""AclControl: which bindings may be created, and which of them a filter deletes."""

from __future__ import annotations

import pytest

from fakebroker.core.security.acl_binding import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from fakebroker.core.security.acl_control import AclControl, matching
from fakebroker.core.security.standard_authorizer import StandardAuthorizer
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import finish

GOOD = AclBinding(
    ResourceType.TOPIC,
    "orders",
    PatternType.LITERAL,
    "User:alice",
    "*",
    AclOperation.READ,
    AclPermissionType.ALLOW,
)


@pytest.fixture
def authorizer() -> StandardAuthorizer:
    return StandardAuthorizer(frozenset(), False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"resource_type": ResourceType(99)}, "Invalid resourceType UNKNOWN"),
        ({"resource_type": ResourceType.CLUSTER}, "The only valid name for the CLUSTER resource is kafka-cluster"),
        ({"resource_name": ""}, "Invalid empty resource name"),
        ({"pattern_type": PatternType(99)}, "Invalid patternType UNKNOWN"),
        ({"operation": AclOperation(99)}, "Invalid operation UNKNOWN"),
        ({"permission_type": AclPermissionType(99)}, "Invalid permissionType UNKNOWN"),
        (
            {"principal": "alice"},
            "Could not parse principal from `alice` (no colon is present separating the principal type from the "
            "principal name)",
        ),
        ({"host": ""}, "Host pattern cannot be null or empty"),
        ({"host": "10.0.0.0/33"}, "Invalid CIDR notation '10.0.0.0/33': Value [33] not in range [0,32]"),
    ],
)
def test_an_invalid_binding_is_refused_and_the_others_are_created(
    authorizer: StandardAuthorizer, change: dict[str, object], message: str
) -> None:
    bad = GOOD._replace(**change)  # type: ignore[arg-type]

    error, none = finish(AclControl(authorizer).create_acls([bad, GOOD]))

    assert error is not None
    assert (error.code, error.message) == (ErrorCode.invalid_request, message)
    assert none is None
    assert authorizer.bindings() == [GOOD]


@pytest.mark.parametrize(
    "change",
    [
        {"resource_type": ResourceType.ANY},
        {"pattern_type": PatternType.MATCH},
        {"pattern_type": PatternType.ANY},
        {"operation": AclOperation.ANY},
        {"permission_type": AclPermissionType.ANY},
    ],
)
def test_a_filter_instead_of_a_binding_fails_the_whole_request(
    authorizer: StandardAuthorizer, change: dict[str, object]
) -> None:
    with pytest.raises(KafkaError) as failure:
        finish(AclControl(authorizer).create_acls([GOOD, GOOD._replace(**change)]))  # type: ignore[arg-type]

    assert failure.value.code is ErrorCode.unknown_server_error
    assert not authorizer.bindings()


def test_a_binding_that_exists_is_created_again_without_an_error(authorizer: StandardAuthorizer) -> None:
    for _ in range(2):
        assert finish(AclControl(authorizer).create_acls([GOOD, GOOD])) == [None, None]
    assert authorizer.bindings() == [GOOD]


def test_more_bindings_than_a_batch_takes_are_all_refused(authorizer: StandardAuthorizer) -> None:
    many = [GOOD._replace(resource_name=f"t{number}") for number in range(10_001)]

    errors = finish(AclControl(authorizer).create_acls(many))

    assert {error.code for error in errors if error is not None} == {ErrorCode.policy_violation}
    assert not authorizer.bindings()


def test_each_filter_has_the_bindings_that_it_deletes(authorizer: StandardAuthorizer) -> None:
    other = GOOD._replace(resource_name="or", pattern_type=PatternType.PREFIXED)
    wildcard = GOOD._replace(resource_name="*")
    finish(AclControl(authorizer).create_acls([GOOD, other, wildcard]))
    filters = [
        AclBindingFilter(resource_name="orders", pattern_type=PatternType.MATCH),
        AclBindingFilter(resource_name="or", pattern_type=PatternType.PREFIXED),
        AclBindingFilter(principal="User:bob"),
        AclBindingFilter(resource_type=ResourceType(99)),
        AclBindingFilter(operation=AclOperation(99)),
    ]

    *results, first, second = finish(AclControl(authorizer).delete_acls(filters))

    assert results == [[GOOD, other, wildcard], [other], []]
    assert isinstance(first, KafkaError)
    assert first.message == "Unknown patternFilter."
    assert isinstance(second, KafkaError)
    assert second.message == "Unknown entryFilter."
    assert not authorizer.bindings()


def test_a_filter_finds_by_each_of_its_fields(authorizer: StandardAuthorizer) -> None:
    finish(AclControl(authorizer).create_acls([GOOD]))
    assert finish(matching(authorizer, AclBindingFilter(*GOOD))) == [GOOD]
    for field in AclBindingFilter._fields:
        wrong: dict[str, object] = {
            "resource_type": ResourceType.GROUP,
            "resource_name": "orders-2",
            "pattern_type": PatternType.PREFIXED,
            "principal": "User:bob",
            "host": "10.0.0.1",
            "operation": AclOperation.WRITE,
            "permission_type": AclPermissionType.DENY,
        }
        changed = AclBindingFilter(*GOOD)._replace(**{field: wrong[field]})  # type: ignore[arg-type]
        assert finish(matching(authorizer, changed)) == [], field

"""ACLs, for the user of a cluster: `kafka.acls.add("topic", "orders", "read", principal="User:alice")`.

They count if the cluster has an authorizer: `FakeCluster(config={"authorizer.class.name": STANDARD_AUTHORIZER})`. A
change applies from the next request on. Names are Kafka's, in any case: resource types "topic", "group", "cluster",
"transactional_id", "delegation_token", "user"; pattern types "literal" and "prefixed"; permissions "allow" and "deny";
operations "read", "write", "describe", "all", ... (core/security/acl_binding.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import TypeVar

from fakebroker.core.arguments import STRING, STRING_OR_NONE, require
from fakebroker.core.security.acl_binding import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from fakebroker.spelling import known_name

Code = TypeVar("Code", bound=IntEnum)


class Acls:
    """The ACLs of a cluster. Every method raises KafkaError (SECURITY_DISABLED) without an authorizer, and ValueError
    for a name that Kafka does not have."""

    def __init__(
        self,
        create: Callable[[AclBinding], None],
        delete: Callable[[AclBindingFilter], Sequence[AclBinding]],
        find: Callable[[AclBindingFilter], Sequence[AclBinding]],
    ) -> None:
        self._create = create
        self._delete = delete
        self._find = find

    def add(
        self,
        resource_type: str,
        name: str,
        operation: str,
        *,
        principal: str = "User:*",
        host: str = "*",
        permission: str = "allow",
        pattern: str = "literal",
    ) -> None:
        """Allow or deny an operation. The resource of the type "cluster" has the name "kafka-cluster". Raise KafkaError
        (INVALID_REQUEST) where Kafka would."""
        binding = AclBinding(
            _code(ResourceType, resource_type),
            name,
            _code(PatternType, pattern),
            principal,
            host,
            _code(AclOperation, operation),
            _code(AclPermissionType, permission),
        )
        self._create(binding)

    def remove(
        self,
        resource_type: str = "any",
        name: str | None = None,
        operation: str = "any",
        *,
        principal: str | None = None,
        host: str | None = None,
        permission: str = "any",
        pattern: str = "any",
    ) -> Sequence[AclBinding]:
        """Remove the ACLs that match, and return them. Without arguments that is all of them."""
        return self._delete(_filter(resource_type, name, operation, principal, host, permission, pattern))

    def list(
        self,
        resource_type: str = "any",
        name: str | None = None,
        operation: str = "any",
        *,
        principal: str | None = None,
        host: str | None = None,
        permission: str = "any",
        pattern: str = "any",
    ) -> Sequence[AclBinding]:
        """Return the ACLs that match, the oldest first. The pattern "match" finds those that concern a resource with
        this name."""
        return self._find(_filter(resource_type, name, operation, principal, host, permission, pattern))


def _filter(
    resource_type: str,
    name: str | None,
    operation: str,
    principal: str | None,
    host: str | None,
    permission: str,
    pattern: str,
) -> AclBindingFilter:
    require(STRING_OR_NONE, name=name, principal=principal, host=host)
    return AclBindingFilter(
        _code(ResourceType, resource_type),
        name,
        _code(PatternType, pattern),
        principal,
        host,
        _code(AclOperation, operation),
        _code(AclPermissionType, permission),
    )


def _code(kind: type[Code], text: str) -> Code:
    """Return the value with this name. UNKNOWN is none."""
    require(STRING, **{kind.__name__: text})
    names = [each.name for each in kind if each.value]
    return kind[known_name(text.replace("-", "_"), names, kind.__name__)]

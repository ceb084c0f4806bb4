"""Access control lists as values: resource patterns, bindings of them to principals, and filters of bindings.

Theory   A binding gives or refuses a principal, at a host, one operation on the resources that a pattern matches. A
         LITERAL pattern matches the resource with its name, "*" all resources of its type. A PREFIXED pattern matches
         the resources with a name that begins with it. A filter matches bindings: ANY (or None) matches each value,
         the pattern type MATCH the patterns that match the filter's name as a resource.
Source   clients/.../common/acl/{AclOperation,AclPermissionType,AccessControlEntryFilter,AclBinding}.java;
         clients/.../common/resource/{ResourceType,PatternType,ResourcePatternFilter}.java;
         metadata/.../metadata/authorizer/StandardAcl.java @ 4.4
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple, final

WILDCARD: Final = "*"  # as a name of a resource, or a host
WILDCARD_PRINCIPAL: Final = "User:*"
CLUSTER_NAME: Final = "kafka-cluster"  # the only resource of the type CLUSTER


class _Code(IntEnum):
    """A code of the wire; one that is not known is UNKNOWN."""

    @classmethod
    def _missing_(cls, value: object) -> _Code:
        return cls(0)


@final
class ResourceType(_Code):
    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


@final
class PatternType(_Code):
    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


@final
class AclOperation(_Code):
    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


@final
class AclPermissionType(_Code):
    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


class AclBinding(NamedTuple):
    """One binding. `principal` is "type:name", `host` an address, a network in CIDR notation, or "*"."""

    resource_type: ResourceType
    resource_name: str
    pattern_type: PatternType
    principal: str
    host: str
    operation: AclOperation
    permission_type: AclPermissionType


class AclBindingFilter(NamedTuple):
    """A filter of bindings; without arguments it matches all."""

    resource_type: ResourceType = ResourceType.ANY
    resource_name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission_type: AclPermissionType = AclPermissionType.ANY

    def matches(self, binding: AclBinding) -> bool:
        """Return True if the pattern and the entry of the binding match."""
        return (
            self._matches_pattern(binding)
            and self.principal in (None, binding.principal)
            and self.host in (None, binding.host)
            and self.operation in (AclOperation.ANY, binding.operation)
            and self.permission_type in (AclPermissionType.ANY, binding.permission_type)
        )

    def _matches_pattern(self, binding: AclBinding) -> bool:
        if self.resource_type not in (ResourceType.ANY, binding.resource_type):
            return False
        if self.pattern_type not in (PatternType.ANY, PatternType.MATCH, binding.pattern_type):
            return False
        if self.resource_name is None:
            return True
        if self.pattern_type is not PatternType.MATCH:
            return self.resource_name == binding.resource_name
        if binding.pattern_type is PatternType.LITERAL:
            return binding.resource_name in (self.resource_name, WILDCARD)
        return self.resource_name.startswith(binding.resource_name)

"""ACLs, for the user of a cluster: `kafka.acls.add("topic", "orders", "read", principal="User:alice")`.

They count if the cluster has an authorizer: `FakeCluster(config={"authorizer.class.name": STANDARD_AUTHORIZER})`. A
change applies from the next request on. Names are Kafka's, in any case: resource types "topic", "group", "cluster",
"transactional_id", "delegation_token", "user"; pattern types "literal" and "prefixed"; permissions "allow" and "deny";
operations "read", "write", "describe", "all", ... (core/security/acl_binding.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from ipaddress import ip_address
from typing import Any, Final, TypeVar

from fakebroker.core.arguments import STRING, STRING_OR_NONE, require
from fakebroker.core.errors import KafkaError
from fakebroker.core.security.acl_binding import (
    WILDCARD,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from fakebroker.core.security.acl_control import check
from fakebroker.core.security.java_address import java_address
from fakebroker.server.driver import Reach
from fakebroker.spelling import did_you_mean, known_name

Code = TypeVar("Code", bound=IntEnum)
# The arguments of `Acls.add` in their order; None stands for one without a default.
_DEFAULTS: Final[Mapping[str, str | None]] = {
    "resource_type": None,
    "name": None,
    "operation": None,
    "principal": "User:*",
    "host": "*",
    "permission": "allow",
    "pattern": "literal",
}
KEYS: Final = tuple(_DEFAULTS)
_HELP: Final = 'an ACL is as in {"resource_type": "topic", "name": "orders", "operation": "read"}'


class Acls:
    """The ACLs of a cluster. Every method raises KafkaError (SECURITY_DISABLED) without an authorizer, and ValueError
    for a name that Kafka does not have."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

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
        binding = _binding(resource_type, name, operation, principal, host, permission, pattern)
        self._reach(lambda driver: driver.cluster.admin.create_acl(binding))

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
        wanted = filter_of(resource_type, name, operation, principal, host, permission, pattern)
        return self._reach(lambda driver: driver.cluster.admin.delete_acls(wanted))

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
        wanted = filter_of(resource_type, name, operation, principal, host, permission, pattern)
        return self._reach(lambda driver: driver.cluster.admin.acls(wanted))


def read_acls(acls: Any) -> tuple[AclBinding, ...]:
    """Return the ACLs of a list of mappings with the arguments of `add`. Raises TypeError, ValueError or KafkaError,
    with the place in the list."""
    if isinstance(acls, str | Mapping) or not isinstance(acls, Sequence):
        raise TypeError(f"acls must be a list of mappings; {_HELP}, not {acls!r}")
    return tuple(read_acl(acl, f"acls[{index}]") for index, acl in enumerate(acls))


def read_acl(acl: Any, where: str) -> AclBinding:
    """Return the ACL of a mapping. `where` begins the errors; they are those of `read_acls`."""
    if not isinstance(acl, Mapping):
        raise TypeError(f"{where}: {_HELP}, not {acl!r}")
    for key in acl:
        if key not in _DEFAULTS:
            raise ValueError(f"{where}: an ACL has no {key!r}; {did_you_mean(str(key), list(_DEFAULTS))}")
    given = {}
    for key, default in _DEFAULTS.items():
        if default is None and key not in acl:
            raise ValueError(f"{where}: {key!r} is missing; {_HELP}")
        given[key] = acl.get(key, default)
    try:
        binding = _binding(**given)
        check(binding)
        _check_host(binding.host)
    except TypeError as error:
        raise TypeError(f"{where}: {error}") from None
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    except KafkaError as error:
        raise KafkaError(error.code, f"{where}: {error.message}") from None
    return binding


def _check_host(host: str) -> None:
    """Raise ValueError for a host that matches no client. Kafka takes any text in a request: it compares texts."""
    if host == WILDCARD or "/" in host:  # a network was checked before
        return
    try:
        ip_address(host)
        right = java_address(host)
    except ValueError:
        right = ""
    if right != host:
        meant = (
            f"write {right!r}, as Kafka does" if right else "a host is an address, a network as in '10.0.0.0/8', or '*'"
        )
        raise ValueError(f"the host {host!r} matches no client: {meant}")


def acl_to_json(binding: AclBinding) -> dict[str, str]:
    """Return the arguments of `add` that make this ACL."""
    return {
        "resource_type": binding.resource_type.name.lower(),
        "name": binding.resource_name,
        "operation": binding.operation.name.lower(),
        "principal": binding.principal,
        "host": binding.host,
        "permission": binding.permission_type.name.lower(),
        "pattern": binding.pattern_type.name.lower(),
    }


def _binding(
    resource_type: str, name: str, operation: str, principal: str, host: str, permission: str, pattern: str
) -> AclBinding:
    require(STRING, name=name, principal=principal, host=host)
    codes = filter_of(resource_type, name, operation, principal, host, permission, pattern)
    return AclBinding(
        codes.resource_type, name, codes.pattern_type, principal, host, codes.operation, codes.permission_type
    )


def filter_of(
    resource_type: str,
    name: str | None,
    operation: str,
    principal: str | None,
    host: str | None,
    permission: str,
    pattern: str,
) -> AclBindingFilter:
    """Return the filter of these names. Raises ValueError."""
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
    names = [code.name for code in kind if code.value]
    return kind[known_name(text.replace("-", "_"), names, kind.__name__)]

"""The controller's part of ACLs: it checks the bindings to create and the filters of those to delete.

Source   metadata/.../controller/AclControlManager.java createAcls, validateNewAcl, deleteAcls;
         core/.../server/AclApis.scala handleCreateAcls; EventHandlerExceptionInfo.java (too large a batch) @ 4.4
Units    at most 10,000 bindings are created, or deleted, by one request.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, final

from fakebroker.core.security import cidr
from fakebroker.core.security.acl_binding import (
    CLUSTER_NAME,
    WILDCARD,
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)
from fakebroker.core.security.standard_authorizer import StandardAuthorizer
from fakebroker.protocol.error_code import ErrorCode
from fakebroker.protocol.errors import KafkaError
from fakebroker.protocol.slices import Slices

_MAX_RECORDS: Final = 10_000
_CREATED_OF_A_SLICE: Final = 64
_MATCHED_OF_A_SLICE: Final = 256
_ANY: Final = 1  # of each kind
_NOT_CONCRETE: Final = (0, _ANY)  # UNKNOWN, ANY


@final
class AclControl:
    """Creates and deletes the bindings of an authorizer."""

    def __init__(self, authorizer: StandardAuthorizer) -> None:
        self._authorizer = authorizer

    def create_acls(self, bindings: Sequence[AclBinding]) -> Slices[list[KafkaError | None]]:
        """Create the valid bindings. Return the error of each, in order. More new ones than a batch of the metadata log
        takes: none is created, and all that are valid themselves have the error. Raise KafkaError for an entry that is
        none of one resource or operation: Kafka fails on it before it looks at the others."""
        errors: list[KafkaError | None] = []
        new: dict[AclBinding, None] = {}
        for number, binding in enumerate(bindings, 1):
            if _is_indefinite(binding):
                raise KafkaError(ErrorCode.unknown_server_error, f"{binding} is a filter.")
            error = _request_error(binding) or _binding_error(binding)
            errors.append(error)
            if error is None and binding not in self._authorizer:
                new[binding] = None
            if number % _CREATED_OF_A_SLICE == 0:
                yield
        if len(new) > _MAX_RECORDS:
            too_many = KafkaError(ErrorCode.policy_violation, "Unable to perform excessively large batch operation.")
            return [_request_error(binding) or too_many for binding in bindings]
        for number, binding in enumerate(new, 1):
            self._authorizer.add(binding)
            if number % _CREATED_OF_A_SLICE == 0:
                yield
        return errors

    def delete_acls(self, filters: Sequence[AclBindingFilter]) -> Slices[list[list[AclBinding] | KafkaError]]:
        """Delete the bindings that match a filter. Return those of each filter, or its error, in order. A binding that
        several filters match is in the result of each."""
        known = self._authorizer.bindings()
        results: list[list[AclBinding] | KafkaError] = []
        deleted: dict[AclBinding, None] = {}
        tried = 0
        for acl_filter in filters:
            tried += 1
            if tried % _MATCHED_OF_A_SLICE == 0:
                yield
            error = _filter_error(acl_filter)
            if error is not None:
                results.append(error)
                continue
            bindings: list[AclBinding] = []
            for binding in known:
                if acl_filter.matches(binding):
                    bindings.append(binding)
                tried += 1
                if tried % _MATCHED_OF_A_SLICE == 0:
                    yield
            results.append(bindings)
            deleted.update(dict.fromkeys(bindings))
        if len(deleted) > _MAX_RECORDS:
            text = f"Cannot remove more than {_MAX_RECORDS} acls in a single delete operation."
            return [KafkaError(ErrorCode.invalid_request, text) for _ in filters]
        for number, binding in enumerate(deleted, 1):
            self._authorizer.remove(binding)
            if number % _CREATED_OF_A_SLICE == 0:
                yield
        return results


def matching(authorizer: StandardAuthorizer, wanted: AclBindingFilter) -> Slices[list[AclBinding]]:
    """Return the bindings that match the filter."""
    bindings: list[AclBinding] = []
    for number, binding in enumerate(authorizer.bindings(), 1):
        if wanted.matches(binding):
            bindings.append(binding)
        if number % _MATCHED_OF_A_SLICE == 0:
            yield
    return bindings


def check(binding: AclBinding) -> None:
    """Raise KafkaError if Kafka would not create the binding."""
    if _is_indefinite(binding):
        raise _invalid("an ACL with any or match is a filter: name one type, pattern, operation and permission")
    error = _request_error(binding) or _binding_error(binding)
    if error is not None:
        raise error


def _is_indefinite(binding: AclBinding) -> bool:
    """Return True if Kafka's classes of bindings do not accept the values."""
    return _ANY in (binding.resource_type, binding.operation, binding.permission_type) or binding.pattern_type in (
        PatternType.ANY,
        PatternType.MATCH,
    )


def _request_error(binding: AclBinding) -> KafkaError | None:
    """Return the error that the request gets before the controller sees it (AclApis)."""
    if binding.resource_type is ResourceType.CLUSTER and binding.resource_name != CLUSTER_NAME:
        return _invalid(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not binding.resource_name:
        return _invalid("Invalid empty resource name")
    return None


def _binding_error(binding: AclBinding) -> KafkaError | None:
    if binding.resource_type in _NOT_CONCRETE:
        return _invalid(f"Invalid resourceType {binding.resource_type.name}")
    if binding.pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        return _invalid(f"Invalid patternType {binding.pattern_type.name}")
    if binding.operation in _NOT_CONCRETE:
        return _invalid(f"Invalid operation {binding.operation.name}")
    if binding.permission_type not in (AclPermissionType.DENY, AclPermissionType.ALLOW):
        return _invalid(f"Invalid permissionType {binding.permission_type.name}")
    if ":" not in binding.principal:
        return _invalid(
            f"Could not parse principal from `{binding.principal}` (no colon is present separating the principal type "
            "from the principal name)"
        )
    return _host_error(binding.host)


def _host_error(host: str) -> KafkaError | None:
    if not host:
        return _invalid("Host pattern cannot be null or empty")
    if host != WILDCARD and "/" in host:
        try:
            cidr.validate(host)
        except ValueError as reason:
            return _invalid(f"Invalid CIDR notation '{host}': {reason}")
    return None


def _filter_error(wanted: AclBindingFilter) -> KafkaError | None:
    if _is_unknown((wanted.resource_type, wanted.pattern_type)):
        return _invalid("Unknown patternFilter.")
    if _is_unknown((wanted.operation, wanted.permission_type)):
        return _invalid("Unknown entryFilter.")
    return None


def _is_unknown(codes: Iterable[ResourceType | PatternType | AclOperation | AclPermissionType]) -> bool:
    return any(code == 0 for code in codes)


def _invalid(text: str) -> KafkaError:
    return KafkaError(ErrorCode.invalid_request, text)

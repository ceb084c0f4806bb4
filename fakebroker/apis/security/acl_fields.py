"""The fields of ACLs in requests: bindings and filters from codes.

Source   clients/.../requests/{CreateAclsRequest,DeleteAclsRequest,DescribeAclsRequest}.java @ 4.4
"""

from __future__ import annotations

from typing import Any

from fakebroker.core.security.acl_binding import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    PatternType,
    ResourceType,
)


def binding_of(creation: Any) -> AclBinding:
    """Return the binding of an entry of CreateAcls."""
    return AclBinding(
        ResourceType(creation.resource_type),
        creation.resource_name,
        PatternType(creation.resource_pattern_type),
        creation.principal,
        creation.host,
        AclOperation(creation.operation),
        AclPermissionType(creation.permission_type),
    )


def filter_of(asked: Any) -> AclBindingFilter:
    """Return the filter of DescribeAcls, or one of DeleteAcls; their fields have the same names."""
    return AclBindingFilter(
        ResourceType(asked.resource_type_filter),
        asked.resource_name_filter,
        PatternType(asked.pattern_type_filter),
        asked.principal_filter,
        asked.host_filter,
        AclOperation(asked.operation),
        AclPermissionType(asked.permission_type),
    )

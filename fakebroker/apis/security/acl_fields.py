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


def filter_of(fields: Any) -> AclBindingFilter:
    """Return the filter of DescribeAcls, or one of DeleteAcls; their fields have the same names."""
    return AclBindingFilter(
        ResourceType(fields.resource_type_filter),
        fields.resource_name_filter,
        PatternType(fields.pattern_type_filter),
        fields.principal_filter,
        fields.host_filter,
        AclOperation(fields.operation),
        AclPermissionType(fields.permission_type),
    )

"""The operations that a principal may do on a resource, as in responses: a bit for each AclOperation.

Theory   Bit n stands for the operation with code n. Without an authorizer every principal may do all operations of the
         resource.
Source   server/.../security/authorizer/AclEntry.java supportedOperations; clients/.../acl/AclOperation.java;
         server/.../server/AuthHelper.java authorizedOperations; MetadataResponse.json, DescribeClusterResponse.json
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from fakebroker.core.security.acl_binding import AclOperation as Op
from fakebroker.core.security.acl_binding import ResourceType

SUPPORTED_OPERATIONS: Final[Mapping[ResourceType, tuple[Op, ...]]] = {
    ResourceType.TOPIC: (
        Op.READ,
        Op.WRITE,
        Op.CREATE,
        Op.DESCRIBE,
        Op.DELETE,
        Op.ALTER,
        Op.DESCRIBE_CONFIGS,
        Op.ALTER_CONFIGS,
    ),
    ResourceType.CLUSTER: (
        Op.CREATE,
        Op.CLUSTER_ACTION,
        Op.DESCRIBE_CONFIGS,
        Op.ALTER_CONFIGS,
        Op.IDEMPOTENT_WRITE,
        Op.ALTER,
        Op.DESCRIBE,
    ),
    ResourceType.GROUP: (Op.READ, Op.DESCRIBE, Op.DELETE, Op.DESCRIBE_CONFIGS, Op.ALTER_CONFIGS),
}
NOT_REQUESTED: Final = -(1 << 31)


def operation_bits(operations: Iterable[Op]) -> int:
    """Return the operations as bits."""
    return sum(1 << operation for operation in operations)

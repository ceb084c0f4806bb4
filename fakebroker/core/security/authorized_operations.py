"""The operations that a principal may do on a resource, as in responses: a bit for each AclOperation.

Theory   Bit n stands for the operation with code n. Without an authorizer every principal may do all operations of the
         resource.
Source   server/.../security/authorizer/AclEntry.java supportedOperations; clients/.../acl/AclOperation.java;
         core/.../server/AuthHelper.scala authorizedOperations; MetadataResponse.json, DescribeClusterResponse.json
"""

from __future__ import annotations

from typing import Final

_READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE = (1 << code for code in range(3, 9))
_CLUSTER_ACTION, _DESCRIBE_CONFIGS, _ALTER_CONFIGS, _IDEMPOTENT_WRITE = (1 << code for code in range(9, 13))

TOPIC_OPERATIONS: Final = _READ | _WRITE | _CREATE | _DESCRIBE | _DELETE | _ALTER | _DESCRIBE_CONFIGS | _ALTER_CONFIGS
CLUSTER_OPERATIONS: Final = (
    _CREATE | _CLUSTER_ACTION | _DESCRIBE_CONFIGS | _ALTER_CONFIGS | _IDEMPOTENT_WRITE | _ALTER | _DESCRIBE
)
GROUP_OPERATIONS: Final = _READ | _DESCRIBE | _DELETE | _DESCRIBE_CONFIGS | _ALTER_CONFIGS
NOT_REQUESTED: Final = -(1 << 31)

"""The operations that a client may do on the cluster, as Metadata and DescribeCluster return them.

Source   core/.../server/KafkaApis.scala handleTopicMetadataRequest; server/.../server/AuthHelper.java
         computeDescribeClusterResponse @ 4.4
"""

from __future__ import annotations

from fakebroker.apis.context import RequestContext
from fakebroker.core.security.acl_binding import CLUSTER_NAME, AclOperation, ResourceType


def cluster_operations(ctx: RequestContext) -> int:
    """Return the operations as bits; none for a client that may not describe the cluster."""
    if not ctx.is_authorized_for_cluster(AclOperation.DESCRIBE):
        return 0
    return ctx.authorized_operations(ResourceType.CLUSTER, CLUSTER_NAME)

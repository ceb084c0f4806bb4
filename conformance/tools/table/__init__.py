"""The commands, chapter by chapter, in the order in which they run."""

from __future__ import annotations

from conformance.tools.table.cluster import CLUSTER, SECURITY
from conformance.tools.table.configs import CONFIGS
from conformance.tools.table.groups import GROUP_TOOLS, GROUPS, GROUPS_848, RESETS, TRANSACTIONS
from conformance.tools.table.kcat import KCAT
from conformance.tools.table.partitions import PARTITIONS
from conformance.tools.table.security import SECURED
from conformance.tools.table.topics import RECORDS, TOPICS
from conformance.tools.table.transactions import HANGING

CHAPTERS = (
    TOPICS, RECORDS, CONFIGS, PARTITIONS, CLUSTER, GROUPS, GROUPS_848, RESETS, GROUP_TOOLS, TRANSACTIONS, HANGING, SECURITY, SECURED, KCAT,
)  # fmt: skip

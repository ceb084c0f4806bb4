"""The settings of a topic that is created automatically.

Source   core/.../server/AutoTopicCreationManager.scala creatableTopic; GroupCoordinatorService.java
         groupMetadataTopicConfigs @ 4.4 (read out of the released jars).
"""

from __future__ import annotations

from fakebroker.core.config.broker_config import BrokerConfig
from fakebroker.core.controller.topics import NewTopic
from fakebroker.protocol.topic_name import GROUP_METADATA_TOPIC_NAME, TRANSACTION_STATE_TOPIC_NAME


def creatable_topic(name: str, config: BrokerConfig) -> NewTopic:
    """Return the topic to create. Topics of users get the defaults of CreateTopics."""
    if name == TRANSACTION_STATE_TOPIC_NAME:
        return NewTopic(
            name,
            config.transaction_state_log_num_partitions,
            config.transaction_state_log_replication_factor,
            configs={
                "unclean.leader.election.enable": "false",
                "compression.type": "uncompressed",
                "cleanup.policy": "compact",
                "min.insync.replicas": str(config.transaction_state_log_min_isr),
                "segment.bytes": str(config.transaction_state_log_segment_bytes),
            },
        )
    if name != GROUP_METADATA_TOPIC_NAME:
        return NewTopic(name)
    return NewTopic(
        name,
        config.offsets_topic_num_partitions,
        config.offsets_topic_replication_factor,
        configs={
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(config.offsets_topic_segment_bytes),
        },
    )

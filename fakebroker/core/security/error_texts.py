"""Kafka's texts of the errors of authorization, where a response has a text.

Source   clients/.../common/protocol/Errors.java @ 4.4
"""

from __future__ import annotations

from typing import Final

from fakebroker.protocol.error_code import ErrorCode

ERROR_TEXTS: Final = {
    ErrorCode.topic_authorization_failed: "Topic authorization failed.",
    ErrorCode.group_authorization_failed: "Group authorization failed.",
    ErrorCode.cluster_authorization_failed: "Cluster authorization failed.",
    ErrorCode.transactional_id_authorization_failed: "Transactional Id authorization failed.",
}

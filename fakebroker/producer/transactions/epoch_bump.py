"""The epoch bump of a transactional producer of 4.3: which side does it, and whether the client has to.

Theory   After some errors a transaction has to be aborted, and the next one needs the next epoch. With transactions of
         version 2 (KIP-890) the coordinator bumps the epoch with each EndTxn. With version 1 the client requests it
         after the transaction, if the coordinator supports that (KIP-360). If not, such an error is fatal. The switch
         from version 1 to 2 needs a bump by the client, too.
Source   TransactionManager.{maybeUpdateTransactionV2Enabled,needToTriggerEpochBumpFromClient,canHandleAbortableError}
         of 4.3.
"""

from __future__ import annotations

from typing import final

from fakebroker.producer.transactions.api_versions import ApiVersions

_V2 = 2


@final
class EpochBump:
    """The brokers' support for bumps, as last seen. `is_required_of_client`: the epoch is bumped at the end of the
    transaction, by a request."""

    def __init__(self, api_versions: ApiVersions) -> None:
        self.is_transaction_v2_enabled = False
        self.is_required_of_client = False
        self._api_versions = api_versions
        self._features_epoch = -1
        self._coordinator_supports_bumping_epoch = False

    def maybe_update_transaction_v2_enabled(self, on_initialization: bool) -> None:
        """Update from the brokers' features. Call it where a transaction begins or ends."""
        if self._features_epoch >= self._api_versions.max_finalized_features_epoch:
            return
        self._features_epoch = self._api_versions.max_finalized_features_epoch
        was_enabled = self.is_transaction_v2_enabled
        self.is_transaction_v2_enabled = self._api_versions.transaction_version >= _V2
        if not on_initialization and not was_enabled and self.is_transaction_v2_enabled:
            self.is_required_of_client = True

    def on_coordinator_ready(self, node: int | None) -> None:
        """Handle a connected transaction coordinator: its versions are known."""
        self._coordinator_supports_bumping_epoch = node is not None and self._api_versions.can_bump_epoch(node)

    def can_handle_abortable_error(self) -> bool:
        """Return True if the producer can continue after an abort."""
        return self._coordinator_supports_bumping_epoch or self.is_transaction_v2_enabled

    def maybe_require_of_client(self) -> None:
        """Require a bump after an error, unless the coordinator does it, or does not support any."""
        if self._coordinator_supports_bumping_epoch and not self.is_transaction_v2_enabled:
            self.is_required_of_client = True

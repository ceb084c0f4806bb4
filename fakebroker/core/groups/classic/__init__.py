"""Groups whose members join, sync and rebalance together: the protocol from before KIP-848."""

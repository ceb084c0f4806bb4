"""Classic groups, the protocol from before KIP-848: members join, sync and rebalance together."""

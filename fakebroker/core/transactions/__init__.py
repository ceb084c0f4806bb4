"""Transactions: the coordinator, and the transaction markers in partitions."""

"""Transactions: partitions and offsets that belong to one, its end, the marks of that, and what there are."""

"""Assignors of the broker: who is to have which partitions."""

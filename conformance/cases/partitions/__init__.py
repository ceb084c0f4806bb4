"""Partitions: more of them, their replicas, leaders, records and log directories."""

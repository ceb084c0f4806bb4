"""Kafka's producer beside the cluster, in one virtual time."""

"""Metrics for Prometheus, under the names that Kafka's metrics have there."""

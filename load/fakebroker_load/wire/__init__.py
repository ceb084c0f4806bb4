"""Kafka's wire protocol for the load: three messages, and a client that notes when each was sent and answered."""

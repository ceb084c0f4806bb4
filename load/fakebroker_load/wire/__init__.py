"""Kafka's wire as the load needs it: three messages, and a client that notes when each was sent and answered."""

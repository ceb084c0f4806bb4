"""Kafka's producer without sockets and without a clock: batching, sending, retries and expiry. The caller passes in
time and random numbers."""

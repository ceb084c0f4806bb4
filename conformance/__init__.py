"""The same traffic to Apache Kafka and to fakebroker, answers compared field by field (`python -m conformance`)."""

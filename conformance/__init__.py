"""Conformance: identical traffic to Apache Kafka and to fakebroker, responses compared field by field (`python -m
conformance`)."""

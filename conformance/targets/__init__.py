"""Targets of cases: Apache Kafka and fakebroker in boxes, and the connections to them."""

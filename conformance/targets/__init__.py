"""What cases run against: Apache Kafka and fakebroker in boxes, and the connections to them."""

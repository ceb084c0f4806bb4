"""Plans in which brokers die: the same for Apache Kafka and for us, under produce and fetch."""

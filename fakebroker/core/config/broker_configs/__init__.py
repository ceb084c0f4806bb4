"""The settings of brokers: all that Kafka's server.properties may hold, by subject, and two of our own."""

"""The settings of brokers: all of Kafka's server.properties, by subject, and a few of our own."""

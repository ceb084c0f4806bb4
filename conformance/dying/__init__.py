"""Common parts of the cases of brokers that die."""

"""What cases of brokers that die share."""

"""What there is: brokers, topics, versions."""

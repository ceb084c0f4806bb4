"""State faults: faults of brokers and of the links between them, over time. What clients see follows from the state."""

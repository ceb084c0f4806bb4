"""Faults that arise: what befalls brokers and what lies between them, over time; what clients see of it follows."""

"""Brokers that are measured: fakebroker and its peers, each in a process of its own."""

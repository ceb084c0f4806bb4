"""The state of consumer groups, and its changes by records."""

"""The cluster as a whole: brokers wired together, and the doors through which time and bytes come in."""

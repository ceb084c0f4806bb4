"""The cost of a test that has a cluster of its own."""

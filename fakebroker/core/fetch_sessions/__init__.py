"""Fetch sessions (KIP-227): a client names its partitions once, and gets only what has changed."""

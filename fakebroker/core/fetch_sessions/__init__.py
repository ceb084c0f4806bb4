"""Fetch sessions (KIP-227): what a client reads is told once, and from then on only what has changed."""

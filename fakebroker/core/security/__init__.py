"""Security: the principal of a client, its listener, and its permissions."""

"""The server's side of the SASL mechanisms: one class for each mechanism, and what they read."""

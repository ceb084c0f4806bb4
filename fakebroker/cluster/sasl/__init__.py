"""Authentication by SASL, from the first frame of a connection to the end of its session."""

"""Produce and connects over TLS."""

"""The assignors of the broker."""

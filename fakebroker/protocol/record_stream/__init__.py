"""Streams over the records of a batch, which read, examine and rewrite them in little memory."""

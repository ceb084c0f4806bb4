"""Bytes to messages and back: framing, headers, messages, record batches, error codes. No sockets and no clock."""

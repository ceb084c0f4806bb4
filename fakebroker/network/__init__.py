"""Connections: read, one request at a time, answered, throttled, closed. No sockets in here."""

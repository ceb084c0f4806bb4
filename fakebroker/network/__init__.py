"""Connections without sockets: reads, one request at a time, responses, throttling, closing."""

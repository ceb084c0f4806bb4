"""Kafka's producer on real sockets: the same machine as in virtual time, driven by asyncio."""

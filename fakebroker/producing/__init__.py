"""Kafka's producer on real sockets: the sans-IO producer, driven by asyncio."""

"""Produce and its followers: acks, timeouts, the ISR, watermarks, leaders that change, brokers that stop."""

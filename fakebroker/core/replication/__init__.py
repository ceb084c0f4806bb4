"""Partitions and their replicas: appends, reads, followers, ISR, high watermark, and the requests parked for it."""

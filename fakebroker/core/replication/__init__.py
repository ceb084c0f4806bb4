"""Partitions and their replicas: appends, reads, followers, the ISR and the watermark, and who waits for it."""

"""Produce by itself: requests and batches good and bad, limits, idempotence, and what is stored of them."""

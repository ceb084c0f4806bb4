"""Compression of batches, and the estimate of the compressed size."""

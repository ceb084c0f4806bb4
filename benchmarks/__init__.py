"""Benchmarks: one command each (`python -m benchmarks NAME`), side by side with peers in one run."""

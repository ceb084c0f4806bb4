"""Neighbours of a quiet client in the benchmark of fairness and in the tests of attacks: what they send, how, and what
it does to others."""

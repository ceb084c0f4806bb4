"""Transactions: how many a second, how soon the next one may begin, and what 10,000 that are open cost."""

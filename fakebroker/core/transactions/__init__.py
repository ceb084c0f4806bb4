"""Transactions: their marks in the logs of others."""

"""Requests of producers to a transaction coordinator."""

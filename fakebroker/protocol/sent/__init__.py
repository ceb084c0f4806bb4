"""Requests of clients as bytes: written by hand where many are sent, and tied to kio by tests."""

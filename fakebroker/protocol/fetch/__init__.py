"""Fetch requests and their readers."""

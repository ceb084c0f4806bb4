"""A small program for every client library (README.md); only those in Python are modules."""

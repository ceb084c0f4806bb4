"""The clients in Python: the same program of each, run by `conformance/clients`."""

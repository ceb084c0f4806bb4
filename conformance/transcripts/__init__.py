"""Responses of a cluster to a case: as bytes, in words, in files, and compared with those of another cluster."""

"""Security of a cluster, for its user."""

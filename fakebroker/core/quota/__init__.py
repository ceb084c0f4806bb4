"""Client quotas and replication quotas: the bounds, the rates, and the throttle times."""

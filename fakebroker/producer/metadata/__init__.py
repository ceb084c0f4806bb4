"""The client's metadata: what it knows of the cluster, when it refreshes it, and for which topics."""

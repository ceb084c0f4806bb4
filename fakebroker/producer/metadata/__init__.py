"""What the client knows of the cluster, when it wants to know more, and about which topics."""

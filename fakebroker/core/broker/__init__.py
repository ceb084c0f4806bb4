"""One broker of the cluster, from its start to its stop."""

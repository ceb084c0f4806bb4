"""The journal of a cluster, read once for all requests: expectations, and streams of events."""

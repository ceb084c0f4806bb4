"""The journal of a cluster, read once for all who ask about it: expectations, and streams of events."""

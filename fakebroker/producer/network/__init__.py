"""Connections to brokers, what is sent over them, and when the cluster is asked about itself."""

"""The network client: connections to brokers, requests over them, and metadata refreshes."""

"""The cluster itself: Metadata, brokers, quotas."""

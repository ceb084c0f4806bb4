"""The cluster itself: Metadata, topics made and deleted, quotas."""

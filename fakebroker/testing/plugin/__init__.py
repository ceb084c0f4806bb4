"""The pytest plugin: it works once installed (docs/pytest.md). It imports nothing of the broker before a test requests
a cluster."""

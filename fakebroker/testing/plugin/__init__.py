"""The plugin for pytest: works as installed (docs/pytest.md). Nothing of the broker is imported before a test asks for
a cluster."""

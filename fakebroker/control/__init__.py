"""HTTP control: the API for tests in any language, a page that shows the clusters of a process, and metrics.

It needs the extra `control`, and only `fakebroker serve` imports it, on demand. docs/http.md is for users.
"""

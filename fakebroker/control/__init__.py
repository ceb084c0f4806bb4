"""HTTP control: what a test in any language does to the clusters of a process, a page that shows them, and metrics.

It needs the extra `control`, and nothing else imports it but who is asked for it: `fakebroker serve`. docs/http.md is
for users.
"""

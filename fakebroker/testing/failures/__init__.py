"""Every point of failure of a test, one by one: the test runs again for each request, append or response that could
have failed, with just this failure. See docs/every-failure.md."""

"""Every point of failure of a test, one by one: where a request, an append or an answer could have failed, the test is
run again with just that. docs/every-failure.md."""

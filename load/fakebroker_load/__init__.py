"""The load: thousands of requests by Spark, and proof of what each was answered. The command is `fakebroker-load`."""

"""The load: thousands of requests by Spark, with proof of each response. The command is `fakebroker-load`."""

"""Consume, transform, produce: each input has its effect exactly once, wherever the program dies or a broker goes.

`points` names the points, and `proxy` acts there, between a client and the brokers. `chain` lets one program after the
other die and reads the rest. `brokers` has the actions on brokers. `python -m conformance.clients.exactly_once` runs
all of it with each client.
"""

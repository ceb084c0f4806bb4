"""Consume, transform, produce: each input has its effect exactly once, wherever the program dies or a broker goes.

`points` names the places, `proxy` stands between a client and the brokers and strikes there, `chain` lets one program
after the other die and reads what is left, `brokers` does it to the brokers instead. `python -m
conformance.clients.exactly_once` runs all of it with each client.
"""

"""Drivers that send the requests, in C and in Python, their frames, and a stock client as a load."""

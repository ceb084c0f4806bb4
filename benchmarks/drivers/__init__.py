"""Who sends the requests: the drivers in C and in Python, the frames they send, and a stock client as a load."""

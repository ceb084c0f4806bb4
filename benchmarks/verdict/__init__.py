"""How the load's verdict grows with the number of requests."""

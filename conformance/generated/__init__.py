"""Generated traffic: random streams to both sides, and what was found by them."""

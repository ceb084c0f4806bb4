"""Turns of the event loop: what is handled, and what is read, in one of them."""

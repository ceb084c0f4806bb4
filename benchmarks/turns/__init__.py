"""The longest turns of the event loop: requests and calls that are as large as they may be."""

"""What a test costs that has a cluster of its own."""

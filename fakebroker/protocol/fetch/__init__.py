"""What a Fetch asks for, and how it is read."""

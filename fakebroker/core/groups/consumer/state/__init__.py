"""What is known of consumer groups, and how records change it."""

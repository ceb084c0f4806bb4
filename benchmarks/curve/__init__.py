"""What a load and its verdict cost as requests grow, for the documentation."""

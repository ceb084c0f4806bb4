"""The cost of a load and its verdict as requests grow, for the documentation."""

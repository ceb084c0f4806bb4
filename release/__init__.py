"""The tools that make a release: wheels and their checks."""

"""Reports of a verdict: for a pull request, for CI, and compared with another run."""

"""A verdict for those who do not look at the page: for a pull request, for CI, beside another run."""

"""The common parts of simulated clients that act by themselves."""

"""What simulated clients that act by themselves have in common."""

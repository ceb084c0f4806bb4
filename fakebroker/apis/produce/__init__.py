"""Records in: Produce, and what producers ask for before."""

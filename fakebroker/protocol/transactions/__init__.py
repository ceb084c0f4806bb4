"""What producers ask a transaction coordinator."""

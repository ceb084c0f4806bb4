"""What producers did and were told, record by record, and a judge of it: what is certain, and what only may be."""

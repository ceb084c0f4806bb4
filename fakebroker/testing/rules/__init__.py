"""Rules of the oracle that have a file of their own."""

"""Do the tests notice slips in the code? `python -m tests.mutants` asks."""

"""Check whether the verdict notices one altered message on the wire: `python -m tests.witness_mutants --wire`."""

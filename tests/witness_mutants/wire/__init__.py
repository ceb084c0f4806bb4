"""Does the verdict notice one altered message on the wire? `python -m tests.witness_mutants --wire` asks."""

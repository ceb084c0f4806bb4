"""A folder of results: its files, their columns, and the manifest that shows whether all are complete."""

"""A folder of results: its files, their columns, and the manifest that says whether all of them are whole."""

"""Messages as tables: the fields of each version, and the one writer that walks over them."""

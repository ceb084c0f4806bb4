"""Messages as tables: the fields of each version, and the reader and the writer that walk over them."""

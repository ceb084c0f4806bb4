"""The store of records that are out of memory: a temporary file, and the allocation of its parts."""

"""kio's types for other libraries."""

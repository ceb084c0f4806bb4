"""APIs for reading records: fetches and offsets."""

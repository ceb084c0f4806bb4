"""The calls of producers and their results, record by record, and a judge of them: certain and uncertain outcomes."""

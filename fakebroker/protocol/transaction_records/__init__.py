"""The records of transactions: the marks that end one in a log."""

"""The records of transactions: transaction markers, and the transaction log."""

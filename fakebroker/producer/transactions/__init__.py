"""The transaction manager: producer id and epoch, sequence numbers, and transactions."""

"""What is sent and what becomes of it: the sender, batches and requests in flight, the errors that are answered."""

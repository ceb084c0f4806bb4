"""The sender: batches and requests in flight, and what the producer does with the errors of responses."""

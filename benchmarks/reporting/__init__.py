"""What becomes of the samples: the rows, and the table or the line of JSON that has them."""

"""Reports of samples: the rows, and the table or the line of JSON that has them."""

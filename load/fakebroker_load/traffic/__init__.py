"""Who sends: reference producers, consumers and transactions beside raw frames, and the rows that come of it all."""

"""What a log knows of transactions: which are open, which were aborted, and who may begin one."""

"""The records of a batch as a stream: walked over, looked at one by one, and written anew, in little memory."""

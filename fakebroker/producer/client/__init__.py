"""The whole producer: records in, bytes out, answers in, callbacks out."""

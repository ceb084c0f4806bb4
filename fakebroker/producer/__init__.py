"""Kafka's producer without sockets and clock: who may send when, in which batch, and until when. Time is passed in, and
so is chance."""

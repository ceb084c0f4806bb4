"""The needs of a load on a Spark cluster: our code there, slots, clocks, and clear messages for failures."""

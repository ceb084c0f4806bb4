"""What a load needs of a Spark cluster: our code there, slots, clocks, and clear words when something breaks."""

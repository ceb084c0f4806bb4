"""The load tool as a whole: a broker, a load, the reading back and the verdict."""

"""The machine of the benchmarks: programs compiled at run time, versions, load."""

"""The broker's own record of a run: fetched during the run, cut to its time, kept as Parquet."""

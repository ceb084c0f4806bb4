"""The broker's own record of a run: fetched while it runs, cut to its time, kept as Parquet."""

"""Kafka's own command line tools, and kcat, against Apache Kafka and against `fakebroker serve`.

Theory   `table/` has the commands, in order. Each runs once on either side, on a cluster of the same brokers and
         settings. Compared are the exit status and all that was printed, but for what no two clusters have in common
         (`normal.py`). What may differ, and why, is in `reasons.py`. `page.py` writes docs/tools.md.
"""

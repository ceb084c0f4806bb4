"""The part of toxiproxy's API that the suites of clients use: each broker stands behind a proxy."""

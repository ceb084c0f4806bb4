"""The part of toxiproxy's API that test suites of clients use: each broker is behind a proxy."""

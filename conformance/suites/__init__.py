"""The clients' own test suites, unmodified, against `fakebroker serve` and against Apache Kafka: docs/suites.md."""

"""The parts of `benchmarks wheel`: the workloads on every timer, the compiled copy of ours, and Kafka's on the JVM."""

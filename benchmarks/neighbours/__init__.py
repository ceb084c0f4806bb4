"""Who is beside a quiet client in the benchmark of fairness, and in the tests of attacks: what they send, who sends it,
what it does to others."""

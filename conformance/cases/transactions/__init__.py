"""Cases of transactions; most of them for both versions (KIP-890)."""

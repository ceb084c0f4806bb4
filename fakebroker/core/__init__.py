"""The cluster without a network: sans-IO, `now` comes in, effects go out (docs/architecture.md)."""

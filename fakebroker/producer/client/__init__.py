"""The whole producer: records and bytes in, effects and callbacks out."""

"""Bodies of messages, looked over before kio reads them: what it cannot read is refused, or put right in a copy."""

"""A check of message bodies before kio reads them: unreadable bytes are refused, or repaired in a copy."""

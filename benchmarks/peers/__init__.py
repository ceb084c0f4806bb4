"""Who answers the requests: our broker and those it is held against, each in a process of its own."""

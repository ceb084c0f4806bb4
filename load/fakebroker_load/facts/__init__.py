"""Each fact that client, log and journal tell of a run, with the rule that judges it, or why none does."""

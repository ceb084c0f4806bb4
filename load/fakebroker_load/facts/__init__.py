"""The facts that client, log and journal state about a run, each with the rule that judges it, or why none does."""

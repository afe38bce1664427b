"""Effects of a changed environment on the deployed one: none, a loss, or a refusal."""

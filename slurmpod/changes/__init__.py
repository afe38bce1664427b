"""Effects of a changed environment on what is deployed: none, a loss, or a refusal."""

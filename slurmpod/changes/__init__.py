"""What a change of an environment does to what is deployed: nothing bad, a loss, or a refusal."""

"""One page of HTML about an environment: what is planned, what happened, and what is now."""

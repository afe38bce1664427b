"""The AWS side of an environment: what `cdk deploy` creates, computed from `Resolved` alone."""

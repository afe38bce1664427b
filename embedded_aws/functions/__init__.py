"""Lambda functions: local processes that call the embedded AWS with their role."""

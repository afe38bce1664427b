"""The rehearsal: what `cdk deploy` does in an account, done on one Linux machine."""

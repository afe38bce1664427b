"""The rehearsal: the effects of `cdk deploy` in an account, reproduced on one Linux machine."""

"""The constructs that the stacks are made of, one idea each."""

"""What cdk-nag finds in the stacks, and what of that is accepted."""

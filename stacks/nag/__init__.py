"""Findings of cdk-nag in the stacks, and the accepted ones."""

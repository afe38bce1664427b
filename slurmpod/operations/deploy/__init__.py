"""Deploying: the command line of the CDK at work on stacks, then scripts on nodes and a job."""

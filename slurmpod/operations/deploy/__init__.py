"""Deploying: stacks by the CDK's command line, then scripts on nodes and a test job."""

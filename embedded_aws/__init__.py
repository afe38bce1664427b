"""The embedded AWS: loopback services good enough for the real CDK CLI, AWS CLI and boto3.

`server.EmbeddedAws` starts it; `interface` defines what a caller can plug in; `cluster` holds the
objects that it shares with a cluster platform.
"""

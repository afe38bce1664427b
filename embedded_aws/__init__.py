"""The embedded AWS: loopback services good enough for the real CDK CLI, AWS CLI and boto3.

`server.EmbeddedAws` starts it; `interface` is what whoever starts it may give it; `cluster` holds
what a platform shares with it.
"""

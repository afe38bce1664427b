"""The embedded AWS: loopback services good enough for the real CDK CLI, AWS CLI and boto3.

`server.EmbeddedAws` starts it; `platform` holds what the rest of the rehearsal shares with it
and imports neither moto nor boto3.
"""

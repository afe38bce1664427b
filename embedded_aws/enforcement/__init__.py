"""IAM in front of the embedded AWS: nodes and people may do what their policies allow, no more.

Every request passes `gate`: `calls` parses signer and operation, `callers` finds the policies of
these credentials, `endpoints` adds the policy of the VPC endpoint, `needs` and `resource_needs`
list the required actions and resources, and `gate` evaluates each and refuses in AWS's words.
"""

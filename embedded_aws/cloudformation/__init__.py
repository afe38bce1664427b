"""CloudFormation of the embedded AWS: templates, stacks, change sets, events and rollbacks.

Not based on moto's: a stack operation runs in the background, reports events, and rolls back when
it fails, as the CDK CLI expects of AWS.
"""

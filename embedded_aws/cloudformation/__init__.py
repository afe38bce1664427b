"""CloudFormation of the embedded AWS: templates, stacks, change sets, events and rollbacks.

Written anew rather than on moto's: a stack operation runs in the background, reports what it does,
and undoes it when it fails, as the CDK CLI expects of AWS.
"""

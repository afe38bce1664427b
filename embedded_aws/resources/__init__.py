"""CloudFormation resource types of the embedded AWS, one file per type or close family.

Each provider creates its resource through the public API of the service, as CloudFormation's
handlers do; the services are moto's or the embedded ones.
"""

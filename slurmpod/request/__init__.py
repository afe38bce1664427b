"""Properties of a cluster -> the CreateCluster request, as plain data in the API's own spelling.

One mapping for all users: the stack deploys it (the CloudFormation resource has the same members),
and a rule checks it against the API's model before anything is billed. Values that only a
deployment knows are references: text, or placeholders for it.

Source: SageMaker API reference, CreateCluster; SageMaker HyperPod developer guide.
"""

from slurmpod.request.properties import (
    ClusterProperties,
    InstanceGroup,
    cluster_properties,
)
from slurmpod.request.references import References
from slurmpod.request.request import (
    cluster_request,
    is_configured_by_api,
    request_for,
)

__all__ = [
    "ClusterProperties",
    "InstanceGroup",
    "References",
    "cluster_properties",
    "cluster_request",
    "is_configured_by_api",
    "request_for",
]

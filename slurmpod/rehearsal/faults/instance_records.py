"""AWS's records of a cluster's instances, also of those that are gone: logs and events."""

from __future__ import annotations

from botocore.exceptions import ClientError

from embedded_aws.clients import Clients

ENDED = "[SageMaker] The lifecycle scripts "
SUCCEEDED = f"{ENDED}succeeded."
FAILED = f"{ENDED}failed with exit code 1."
"""With these HyperPod ends what the scripts of an instance printed."""

REPLACES = "is starting as part of instance replacement"
REPLACED = "creation completed successfully as part of instance replacement"
NOT_REPLACED = "creation failed as part of instance replacement"
"""Words of HyperPod's cluster events (developer guide, "cluster events reference")."""

_STREAMS = "LifecycleConfig/"


def printed_by(aws: Clients, cluster: str, instance: str) -> str:
    """Return what the lifecycle scripts of an instance printed, from its stream in CloudWatch Logs.

    Nothing while it has no stream.
    """
    arn = aws.sagemaker.describe_cluster(ClusterName=cluster)["ClusterArn"]
    group = f"/aws/sagemaker/Clusters/{cluster}/{arn.rpartition('/')[2]}"
    pages = aws.logs.get_paginator("describe_log_streams").paginate(
        logGroupName=group, logStreamNamePrefix=_STREAMS
    )
    names = (stream["logStreamName"] for page in pages for stream in page["logStreams"])
    name = next((name for name in names if name.endswith(f"/{instance}")), None)
    if name is None:
        return ""
    events = aws.logs.get_log_events(logGroupName=group, logStreamName=name, startFromHead=True)
    return "\n".join(event["message"] for event in events["events"])


def is_in_events(aws: Clients, cluster: str, instance: str, text: str) -> bool:
    """Tell whether an event of the cluster says a text of an instance.

    Only a cluster with continuous provisioning has events; of another one this tells whether
    HyperPod refuses to list them.
    """
    described = aws.sagemaker.describe_cluster(ClusterName=cluster)
    is_continuous = described.get("NodeProvisioningMode") == "Continuous"
    try:
        events = aws.sagemaker.list_cluster_events(ClusterName=cluster, NodeId=instance)["Events"]
    except ClientError as error:
        return not is_continuous and error.response["Error"]["Code"] == "ValidationException"
    return is_continuous and any(text in event["Description"] for event in events)

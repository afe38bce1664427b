"""The notebook stack: a notebook instance of SageMaker in the network of the cluster."""

from __future__ import annotations

from aws_cdk import CfnOutput
from constructs import Construct

from slurmpod.resolve import Resolved, ResolvedNotebook
from slurmpod_cdk.environment_stack import EnvironmentStack
from slurmpod_cdk.network.stack import ClusterNetwork
from slurmpod_cdk.notebook.notebook_instance import NotebookInstance
from slurmpod_cdk.storage.mount_targets import FileSystems


def notebook_of(
    scope: Construct, resolved: Resolved, network: ClusterNetwork, file_systems: FileSystems
) -> NotebookStack | None:
    """Make the notebook instance that the environment asks for; None where it asks for none."""
    if resolved.notebook is None:
        return None
    return NotebookStack(
        scope,
        resolved=resolved,
        notebook=resolved.notebook,
        network=network,
        file_systems=file_systems,
    )


class NotebookStack(EnvironmentStack):
    """The files on the instance's volume outlive it, unless the environment asks for their end."""

    def __init__(
        self,
        scope: Construct,
        *,
        resolved: Resolved,
        notebook: ResolvedNotebook,
        network: ClusterNetwork,
        file_systems: FileSystems,
    ) -> None:
        super().__init__(
            scope,
            str(resolved.stacks.notebook),
            resolved=resolved,
            description=f"A notebook instance beside the HyperPod cluster {resolved.name}",
        )
        instance = NotebookInstance(
            self,
            "Notebook",
            resolved=resolved,
            notebook=notebook,
            subnet_id=network.subnet_ids[notebook.zone],
            security_group_ids=network.security_group_ids,
            file_systems=file_systems,
        )
        CfnOutput(
            self,
            "NotebookInstanceName",
            value=instance.name,
            description="For aws sagemaker create-presigned-notebook-instance-url "
            "--notebook-instance-name",
        )

"""The notebook stack: a SageMaker notebook instance in the network of the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from aws_cdk import CfnOutput, CfnResource, Fn, RemovalPolicy, aws_iam, aws_kms
from aws_cdk.aws_sagemaker import CfnNotebookInstance
from aws_cdk.aws_sagemaker import CfnNotebookInstanceLifecycleConfig as CfnScript
from constructs import Construct

from slurmpod.bundle.templates import render
from slurmpod.permissions.notebook import NotebookScope, notebook_grants, notebook_scope
from slurmpod.resolve import Resolved, ResolvedNotebook
from slurmpod_cdk.environment_stack import EnvironmentStack
from slurmpod_cdk.network.stack import ClusterNetwork
from slurmpod_cdk.policy_document import policy_document
from slurmpod_cdk.retention import apply_on_delete
from slurmpod_cdk.storage.stack import FileSystems


def notebook_of(
    scope: Construct, resolved: Resolved, network: ClusterNetwork, file_systems: FileSystems
) -> NotebookStack | None:
    """Make the notebook instance if the environment has one, else return None."""
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
    """The stack of the notebook instance, whose volume is retained by default."""

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


PLATFORM = "notebook-al2023-v1"
"""Amazon Linux 2023 with JupyterLab, for which there is a package lustre-client (developer guide,
"Amazon Linux 2023 notebook instances"; FSx for Lustre user guide, "Installing the Lustre
client")."""

LUSTRE_OPTIONS = "noatime,flock"
NFS_OPTIONS = "noatime,nfsvers=4.2,nconnect=16,rsize=1048576,wsize=1048576"

DIRECT_INTERNET = "DirectInternet"
"""Construct id that marks direct internet access, which is not a resource, for reviews."""


class NotebookInstance(Construct):
    """The instance, its script, its role and its key; it stops when idle.

    It has a fixed name, so that a change for which CloudFormation would replace it with an empty
    one fails. If it is retained, so are its script, role and key: it must be able to stop itself.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        resolved: Resolved,
        notebook: ResolvedNotebook,
        subnet_id: str,
        security_group_ids: Sequence[str],
        file_systems: FileSystems,
    ) -> None:
        super().__init__(scope, id_)
        self._notebook = notebook
        key = self._key()
        permissions = notebook_scope(
            resolved,
            notebook,
            subnet_ids=(subnet_id,),
            security_group_ids=tuple(security_group_ids),
            kms_key_arn=key.key_arn,
        )
        role = self._role(permissions)
        script = self._script(script_of(resolved, notebook, file_systems))
        if notebook.settings.direct_internet:
            Construct(self, DIRECT_INTERNET)
        instance = self._instance(role, key, script, subnet_id, security_group_ids)
        for resource in (instance, script, role.node.default_child):
            if isinstance(resource, CfnResource):
                apply_on_delete(resource, notebook.settings.on_delete)
        self.name = instance.attr_notebook_instance_name

    def _key(self) -> aws_kms.IKey:
        given = self._notebook.settings.kms_key_arn
        if given:
            return aws_kms.Key.from_key_arn(self, "Key", given)
        return aws_kms.Key(
            self,
            "Key",
            description=f"Volume of the notebook instance {self._notebook.name}",
            enable_key_rotation=True,
            removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE,
        )

    def _role(self, permissions: NotebookScope) -> aws_iam.Role:
        return aws_iam.Role(
            self,
            "Role",
            description=f"Notebook instance {self._notebook.name}: its log, and its own end",
            assumed_by=aws_iam.ServicePrincipal("sagemaker.amazonaws.com"),
            inline_policies={"Notebook": policy_document(notebook_grants(permissions))},
        )

    def _script(self, text: str) -> CfnScript:
        return CfnScript(
            self,
            "Script",
            notebook_instance_lifecycle_config_name=self._notebook.name,
            on_start=[CfnScript.NotebookInstanceLifecycleHookProperty(content=Fn.base64(text))],
        )

    def _instance(
        self,
        role: aws_iam.Role,
        key: aws_kms.IKey,
        script: CfnScript,
        subnet_id: str,
        security_group_ids: Sequence[str],
    ) -> CfnNotebookInstance:
        settings = self._notebook.settings
        return CfnNotebookInstance(
            self,
            "Instance",
            notebook_instance_name=self._notebook.name,
            instance_type=settings.instance_type,
            platform_identifier=PLATFORM,
            role_arn=role.role_arn,
            kms_key_id=key.key_arn,
            volume_size_in_gb=settings.volume_gib,
            subnet_id=subnet_id,
            security_group_ids=list(security_group_ids),
            direct_internet_access=_switch(is_on=settings.direct_internet),
            root_access=_switch(is_on=settings.root_access),
            lifecycle_config_name=script.attr_notebook_instance_lifecycle_config_name,
            instance_metadata_service_configuration=(
                CfnNotebookInstance.InstanceMetadataServiceConfigurationProperty(
                    minimum_instance_metadata_service_version="2"
                )
            ),
        )


def script_of(resolved: Resolved, notebook: ResolvedNotebook, file_systems: FileSystems) -> str:
    """Return the script that runs at every start, with tokens for names of new file systems."""
    mounts = list(_mounts(resolved, notebook, file_systems))
    clients = {"lustre": "lustre-client", "nfs": "nfs-utils"}
    return render(
        "notebook/on_start.sh",
        {
            "idle_minutes": notebook.settings.idle_minutes,
            "name": notebook.name,
            "region": resolved.region,
            "clients": [clients[kind] for kind in dict.fromkeys(each["type"] for each in mounts)],
            "mounts": mounts,
        },
    )


def _mounts(
    resolved: Resolved, notebook: ResolvedNotebook, file_systems: FileSystems
) -> Iterator[dict[str, str]]:
    shared = notebook.settings.shared_storage
    if shared == "none":
        return
    access = "ro" if shared == "read_only" else "rw"
    for lustre in resolved.lustre:
        target = file_systems.lustre[lustre.name]
        yield {
            "type": "lustre",
            "options": f"{access},{LUSTRE_OPTIONS}",
            "source": f"{target.dns_name}@tcp:/{target.mount_name}",
            "folder": lustre.settings.mount_path,
        }
    if resolved.openzfs and (server := file_systems.openzfs):
        yield {
            "type": "nfs",
            "options": f"{access},{NFS_OPTIONS}",
            "source": f"{server.dns_name}:/{server.mount_name}/",
            "folder": resolved.openzfs.settings.mount_path,
        }


def _switch(*, is_on: bool) -> str:
    return "Enabled" if is_on else "Disabled"

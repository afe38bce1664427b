"""The role that HyperPod assumes for an instance group and that its nodes carry."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import aws_iam
from constructs import Construct

from slurmpod.environment.names import account_of_arn
from slurmpod.permissions import Scope, policies
from slurmpod_cdk.policy_document import policy_document

POLICIES_OF_DATA = frozenset({"Buckets", "DataBuckets"})
"""Those that grow with the environment are resources of their own beside the role."""


class ExecutionRole(Construct):
    """What the table of permissions says for these nodes, and no more.

    Source: SageMaker HyperPod developer guide, "IAM role for SageMaker HyperPod". Not with AWS's
    managed policy, which would let nodes read other environments' buckets.
    """

    def __init__(
        self, construct: Construct, id_: str, *, scope: Scope, policy_arns: Sequence[str] = ()
    ) -> None:
        """Make the role for the nodes of `scope`, with further managed policies."""
        super().__init__(construct, id_)
        documents = {name: policy_document(grants) for name, grants in policies(scope).items()}
        self.role = aws_iam.Role(
            self,
            "Role",
            description=f"Nodes of the HyperPod cluster {scope.cluster_name}",
            assumed_by=aws_iam.ServicePrincipal("sagemaker.amazonaws.com"),
            managed_policies=[
                self._further_policy(number, arn) for number, arn in enumerate(policy_arns, start=1)
            ],
            inline_policies={
                name: document
                for name, document in documents.items()
                if name not in POLICIES_OF_DATA
            },
        )
        for name in sorted(POLICIES_OF_DATA & documents.keys()):
            aws_iam.Policy(self, name, roles=[self.role], document=documents[name])

    def _further_policy(self, number: int, arn: str) -> aws_iam.IManagedPolicy:
        """Name a policy of the user's choice; the id tells a review whether AWS wrote it."""
        kind = "OfAws" if account_of_arn(arn) == "aws" else "Own"
        return aws_iam.ManagedPolicy.from_managed_policy_arn(self, f"{kind}{number}", arn)

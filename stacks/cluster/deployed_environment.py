"""The record of what is deployed, in the parameter store, where `slurmpod diff` finds it."""

from __future__ import annotations

from aws_cdk import aws_ssm
from constructs import Construct

from slurmpod.deployment_record import record
from slurmpod.resolve import Resolved


class DeployedEnvironment(Construct):
    """The environment as parameters, to be written after everything else has been deployed."""

    def __init__(self, scope: Construct, id_: str, *, resolved: Resolved) -> None:
        super().__init__(scope, id_)
        for number, (name, value) in enumerate(record(resolved).items()):
            aws_ssm.StringParameter(
                self,
                f"Part{number}",
                parameter_name=name,
                string_value=value,
                description=f"The environment {resolved.name} as it was deployed last",
            )

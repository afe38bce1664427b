"""A boundary leaves room for what the functions of the stacks do, or is refused."""

from __future__ import annotations

from embedded_aws.iam import policy_of
from slurmpod.permissions.functions import grants_of_functions
from slurmpod.permissions.sufficiency import lacking
from slurmpod.reading.read import Reading, read_as
from slurmpod.resolve import Resolved, resolve
from tests.sound_environment import SOUND

SQUASHED = SOUND.replace("1200\n", '1200\n    root_squash: {user: "65534:65534"}\n')
WATCHED = SQUASHED + "monitoring: {prometheus: {}, grafana: {}}\n"
EVERYTHING = {"Effect": "Allow", "Action": "*", "Resource": "*"}


def resolved(text: str) -> Resolved:
    environment = read_as("dev.yaml", text).environment
    assert environment
    return resolve(Reading(environment))


def sids(example: Resolved) -> set[str]:
    return {grant.sid for grant in grants_of_functions(example)}


def lacking_under(example: Resolved, denied: str) -> set[str]:
    statements = [EVERYTHING, {"Effect": "Deny", "Action": denied, "Resource": "*"}]
    boundary = policy_of("boundary", {"Version": "2012-10-17", "Statement": statements})
    needed = grants_of_functions(example)
    return {lack.action for lack in lacking(needed, [boundary], example)}


def test_an_environment_has_the_functions_that_it_asks_for() -> None:
    assert sids(resolved(SOUND)) < sids(resolved(SQUASHED)) < sids(resolved(WATCHED))
    assert sids(resolved(WATCHED)) - sids(resolved(SQUASHED)) == {
        "AskForNodes",
        "QueryMetrics",
        "SetUpClusterLogs",
        "WriteCounts",
    }


def test_what_a_boundary_denies_them_is_found() -> None:
    example = resolved(WATCHED)
    assert lacking_under(example, "s3:DeleteBucket") == set()
    assert lacking_under(example, "logs:AssociateKmsKey") == {"logs:AssociateKmsKey"}
    assert lacking_under(example, "fsx:Update*") == {"fsx:UpdateFileSystem"}
    assert lacking_under(example, "cloudwatch:PutMetricData") == {"cloudwatch:PutMetricData"}
    assert lacking_under(example, "ec2:RevokeSecurityGroupIngress") == {
        "ec2:RevokeSecurityGroupIngress"
    }


def test_a_boundary_that_names_the_cluster_suffices() -> None:
    example = resolved(WATCHED)
    statements = [
        {"Effect": "Allow", "NotAction": "sagemaker:*", "Resource": "*"},
        {
            "Effect": "Allow",
            "Action": "sagemaker:*",
            "Resource": example.arn("sagemaker", "cluster/*"),
        },
    ]
    boundary = policy_of("boundary", {"Version": "2012-10-17", "Statement": statements})
    needed = grants_of_functions(example)
    assert list(lacking(needed, [boundary], example)) == []

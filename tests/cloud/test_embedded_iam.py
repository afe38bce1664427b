"""IAM in front of the embedded AWS: what roles and users that a template makes may do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.isolation import isolated_environment
from embedded_aws.server import EmbeddedAws
from tests.cloud.embedded_stacks import ACCOUNT, REGION, Stacks, att, ref, resource

AWS_CLI = Path(sys.executable).with_name("aws")
MANAGED_POLICY = "AmazonSageMakerClusterInstanceRolePolicy"
OWN, FOREIGN, GUARDED = "sagemaker-own", "sagemaker-foreign", "guarded"
CONFIG = Config(retries={"total_max_attempts": 1}, s3={"addressing_style": "path"})


def document(*statements: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def allow(action: Any, resources: Any = "*", **more: Any) -> dict[str, Any]:
    return {"Effect": "Allow", "Action": action, "Resource": resources, **more}


def deny(action: Any, resources: Any = "*", **more: Any) -> dict[str, Any]:
    return allow(action, resources, **more) | {"Effect": "Deny"}


def trusting(principal: dict[str, Any]) -> dict[str, Any]:
    return document({"Effect": "Allow", "Principal": principal, "Action": "sts:AssumeRole"})


def role(policies: dict[str, Any], **properties: Any) -> dict[str, Any]:
    return resource(
        "IAM::Role",
        AssumeRolePolicyDocument=trusting({"Service": "sagemaker.amazonaws.com"}),
        Policies=[{"PolicyName": name, "PolicyDocument": each} for name, each in policies.items()],
        **properties,
    )


def resources() -> dict[str, Any]:
    objects = {"Fn::Sub": f"arn:${{AWS::Partition}}:s3:::{OWN}/*"}
    return {
        "Own": resource("S3::Bucket", BucketName=OWN),
        "Foreign": resource("S3::Bucket", BucketName=FOREIGN),
        "Guarded": resource("S3::Bucket", BucketName=GUARDED),
        "GuardedPolicy": resource(
            "S3::BucketPolicy",
            Bucket=ref("Guarded"),
            PolicyDocument=document(
                deny(
                    "s3:*",
                    [f"arn:aws:s3:::{GUARDED}", f"arn:aws:s3:::{GUARDED}/*"],
                    Principal="*",
                    Condition={"Bool": {"aws:SecureTransport": "false"}},
                ),
                allow(
                    "s3:GetObject",
                    f"arn:aws:s3:::{GUARDED}/*",
                    Principal={"AWS": att("Reader", "Arn")},
                ),
                deny(
                    "s3:GetObject",
                    f"arn:aws:s3:::{GUARDED}/closed/*",
                    Principal={"AWS": att("Reader", "Arn")},
                ),
            ),
        ),
        "Key": resource(
            "KMS::Key",
            KeyPolicy=document(
                allow(
                    "kms:*", Principal={"AWS": {"Fn::Sub": "arn:aws:iam::${AWS::AccountId}:root"}}
                )
            ),
        ),
        "Secret": resource("SecretsManager::Secret", Name="own", SecretString="of the database"),
        "Encrypted": resource(
            "SecretsManager::Secret", Name="encrypted", SecretString="too", KmsKeyId=ref("Key")
        ),
        "Boundary": resource(
            "IAM::ManagedPolicy", PolicyDocument=document(allow(["logs:*", "s3:ListBucket"]))
        ),
        "More": resource(
            "IAM::ManagedPolicy",
            Roles=[ref("Nodes")],
            PolicyDocument=document(allow("sns:Publish", "arn:aws:sns:*:*:own")),
        ),
        "Nodes": role(
            {
                "Scripts": document(
                    allow("s3:GetObject", objects),
                    allow("s3:ListBucket", att("Own", "Arn")),
                ),
                "Secrets": document(
                    allow("secretsmanager:GetSecretValue", [ref("Secret"), ref("Encrypted")])
                ),
            },
            ManagedPolicyArns=[f"arn:aws:iam::aws:policy/{MANAGED_POLICY}"],
        ),
        "Bounded": role({"Everything": document(allow("*"))}, PermissionsBoundary=ref("Boundary")),
        "Reader": role({"Nothing": document(deny("s3:PutObject"))}),
    }


class Account:
    """The embedded AWS with the stack, and credentials in it."""

    def __init__(self, aws: EmbeddedAws) -> None:
        self.aws = aws
        self.clients = aws.clients()
        outputs = {name: att(name, "Arn") for name in ("Nodes", "Bounded", "Reader")}
        refs = {"Key": ref("Key"), "Boundary": ref("Boundary")}
        outcome = Stacks(self.clients).deploy("iam", resources(), **outputs, **refs)
        assert outcome.status == "CREATE_COMPLETE", outcome.reasons
        self.arns = outcome.outputs
        for bucket in (OWN, FOREIGN, GUARDED):
            for key in ("a", "closed/a"):
                self.clients.s3.put_object(Bucket=bucket, Key=key, Body=b"content")

    def session(self, name: str, policy: dict[str, Any] | None = None) -> Session:
        sts = self.clients.service("sts")
        more = {"Policy": json.dumps(policy)} if policy else {}
        made = sts.assume_role(RoleArn=self.arns[name], RoleSessionName="SageMaker", **more)
        return Session(self.aws, made["Credentials"])

    def trusting(self, name: str, principal: dict[str, Any], **more: Any) -> str:
        """Make a role that trusts somebody, and return its ARN."""
        trust = trusting(principal)
        trust["Statement"][0] |= more
        made = self.clients.iam.create_role(
            RoleName=name, AssumeRolePolicyDocument=json.dumps(trust)
        )
        return made["Role"]["Arn"]

    def user(self, name: str, policy: dict[str, Any], **more: Any) -> Session:
        iam = self.clients.iam
        iam.create_user(UserName=name, **more)
        iam.put_user_policy(UserName=name, PolicyName="own", PolicyDocument=json.dumps(policy))
        key: Any = iam.create_access_key(UserName=name)["AccessKey"]
        return Session(self.aws, key)


class Session:
    """Credentials, and what is done with them."""

    def __init__(self, aws: EmbeddedAws, credentials: dict[str, Any]) -> None:
        self.aws = aws
        self.key = credentials["AccessKeyId"]
        self.secret = credentials["SecretAccessKey"]
        self.token = credentials.get("SessionToken")

    def client(self, service: str) -> Any:
        session: Any = boto3.session.Session(self.key, self.secret, self.token, REGION)
        return session.client(service, endpoint_url=self.aws.endpoint, config=CONFIG)

    def refused(self, service: str, operation: str, **given: Any) -> str:
        """Return code and message of the refusal of a call, nothing if it passes."""
        try:
            getattr(self.client(service), operation)(**given)
        except ClientError as error:
            return f"{error.response['Error']['Code']}: {error.response['Error']['Message']}"
        return ""

    def cli(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        variables = {
            **self.aws.environment(),
            "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            **({"AWS_SESSION_TOKEN": self.token} if self.token else {}),
        }
        return subprocess.run(
            [AWS_CLI, *arguments],
            env=isolated_environment(os.environ, variables),
            capture_output=True,
            text=True,
        )


@pytest.fixture(scope="module")
def account() -> Iterator[Account]:
    with EmbeddedAws(account=ACCOUNT, region=REGION) as aws:
        aws.start(CloudOnlyPlatform())
        yield Account(aws)


@pytest.fixture(scope="module")
def nodes(account: Account) -> Session:
    return account.session("Nodes")


class TestARole:
    def test_does_what_its_own_policies_allow(self, nodes: Session) -> None:
        assert not nodes.refused("s3", "get_object", Bucket=OWN, Key="a")
        assert not nodes.refused("secretsmanager", "get_secret_value", SecretId="own")

    def test_does_what_attached_policies_allow(self, account: Account, nodes: Session) -> None:
        topic = account.clients.service("sns").create_topic(Name="own")["TopicArn"]
        group = "/aws/sagemaker/Clusters/demo/abc"
        assert not nodes.refused("sns", "publish", TopicArn=topic, Message="m")
        assert not nodes.refused("logs", "create_log_group", logGroupName=group)
        assert not nodes.refused("logs", "create_log_stream", logGroupName=group, logStreamName="s")

    def test_aws_own_policy_opens_every_bucket_of_that_name(self, nodes: Session) -> None:
        """Why slurmpod's own roles do without it: it reads other environments' scripts."""
        assert not nodes.refused("s3", "get_object", Bucket=FOREIGN, Key="a")

    def test_does_nothing_else_and_is_told_so_as_by_aws(self, nodes: Session) -> None:
        me = f"User: arn:aws:sts::{ACCOUNT}:assumed-role/"
        message = nodes.refused("s3", "get_object", Bucket=GUARDED, Key="a")
        assert message.startswith(f"AccessDenied: {me}")
        assert message.endswith(
            f'/SageMaker is not authorized to perform: s3:GetObject on resource: "arn:aws:s3:::'
            f'{GUARDED}/a" because no identity-based policy allows the s3:GetObject action'
        )
        assert "logs:CreateLogGroup" in nodes.refused(
            "logs", "create_log_group", logGroupName="other"
        )
        for service, operation in (
            ("s3", "list_buckets"),
            ("secretsmanager", "list_secrets"),
            ("fsx", "describe_file_systems"),
            ("iam", "list_roles"),
            ("ec2", "describe_vpcs"),
            ("sagemaker", "list_clusters"),
            ("cloudformation", "describe_stacks"),
        ):
            assert "is not authorized to perform" in nodes.refused(service, operation)

    def test_is_known_to_itself_whatever_its_policies(self, account: Account) -> None:
        identity = account.session("Reader").client("sts").get_caller_identity()

        assert identity["Arn"].endswith("/SageMaker")

    def test_needs_the_key_of_an_encrypted_secret(self, account: Account, nodes: Session) -> None:
        message = nodes.refused("secretsmanager", "get_secret_value", SecretId="encrypted")

        assert message.startswith("AccessDeniedException: User: ")
        assert f"kms:Decrypt on resource: arn:aws:kms:{REGION}:{ACCOUNT}:key/" in message

    def test_changed_policies_hold_at_once(self, account: Account) -> None:
        session = account.session("Reader")
        iam, name = account.clients.iam, account.arns["Reader"].rpartition("/")[2]
        assert session.refused("s3", "list_buckets")
        text = json.dumps(document(allow("s3:ListAllMyBuckets")))
        iam.put_role_policy(RoleName=name, PolicyName="more", PolicyDocument=text)
        assert not session.refused("s3", "list_buckets")
        iam.delete_role_policy(RoleName=name, PolicyName="more")
        assert session.refused("s3", "list_buckets")


class TestLimits:
    def test_a_boundary_bounds_what_policies_allow(self, account: Account) -> None:
        bounded = account.session("Bounded")

        assert not bounded.refused("s3", "list_objects_v2", Bucket=OWN)
        message = bounded.refused("s3", "get_object", Bucket=OWN, Key="a")
        assert message.endswith("because no permissions boundary allows the s3:GetObject action")

    def test_a_session_policy_bounds_too(self, account: Account) -> None:
        session = account.session("Nodes", document(allow("s3:ListBucket")))

        assert not session.refused("s3", "list_objects_v2", Bucket=OWN)
        message = session.refused("s3", "get_object", Bucket=OWN, Key="a")
        assert message.endswith("because no session policy allows the s3:GetObject action")


class TestPoliciesOfResources:
    def test_a_bucket_lets_a_role_in(self, account: Account) -> None:
        assert not account.session("Reader").refused("s3", "get_object", Bucket=GUARDED, Key="a")

    def test_a_bucket_shuts_a_role_out(self, account: Account) -> None:
        message = account.session("Reader").refused(
            "s3", "get_object", Bucket=GUARDED, Key="closed/a"
        )
        assert message.endswith("with an explicit deny in a resource-based policy")

    def test_a_denial_is_about_whom_it_names_alone(self, account: Account) -> None:
        may = document(allow("s3:*"))
        shut_out, other = account.user("dora", may), account.user("emil", may)
        s3, dora = account.clients.s3, f"arn:aws:iam::{ACCOUNT}:user/dora"
        here: Any = {"LocationConstraint": REGION}
        s3.create_bucket(Bucket="divided", CreateBucketConfiguration=here)
        policy = document(deny("s3:*", "arn:aws:s3:::divided/*", Principal={"AWS": dora}))
        s3.put_bucket_policy(Bucket="divided", Policy=json.dumps(policy))
        s3.put_object(Bucket="divided", Key="a", Body=b"content")
        message = shut_out.refused("s3", "get_object", Bucket="divided", Key="a")

        assert message.startswith(f"AccessDenied: User: {dora} is not authorized")
        assert not other.refused("s3", "get_object", Bucket="divided", Key="a")
        everything: Any = {"Objects": [{"Key": "a"}]}
        assert "Errors" not in s3.delete_objects(Bucket="divided", Delete=everything)


class TestUsers:
    def test_a_user_may_what_its_policies_allow(self, account: Account) -> None:
        alice = account.user("alice", document(allow("s3:GetObject", f"arn:aws:s3:::{OWN}/*")))

        assert not alice.refused("s3", "get_object", Bucket=OWN, Key="a")
        message = alice.refused("s3", "get_object", Bucket=FOREIGN, Key="a")
        assert message.startswith(f"AccessDenied: User: arn:aws:iam::{ACCOUNT}:user/alice is not")

    def test_policies_know_the_users_name(self, account: Account) -> None:
        own = f"arn:aws:s3:::{OWN}/${{aws:username}}/*"
        carol = account.user("carol", document(allow("s3:PutObject", own)))

        assert not carol.refused("s3", "put_object", Bucket=OWN, Key="carol/a", Body=b"1")
        assert carol.refused("s3", "put_object", Bucket=OWN, Key="alice/a", Body=b"1")

    def test_a_boundary_bounds_what_a_users_policies_allow(self, account: Account) -> None:
        iam, everything = account.clients.iam, document(allow("*"))
        bounds = {"PermissionsBoundary": account.arns["Boundary"]}
        ida = account.user("ida", everything, **bounds)
        jon = account.user("jon", everything)
        message = ida.refused("s3", "list_buckets")
        assert message.startswith("AccessDenied: ")
        assert message.endswith("no permissions boundary allows the s3:ListAllMyBuckets action")
        assert not ida.refused("s3", "list_objects_v2", Bucket=OWN)
        assert not jon.refused("s3", "list_buckets")

        iam.delete_user_permissions_boundary(UserName="ida")
        iam.put_user_permissions_boundary(UserName="jon", **bounds)
        assert not ida.refused("s3", "list_buckets")
        assert jon.refused("s3", "list_buckets")

    def test_a_users_boundary_is_shown_and_there(self, account: Account) -> None:
        iam, arn = account.clients.iam, account.arns["Boundary"]
        made = iam.create_user(UserName="kim", PermissionsBoundary=arn)["User"]
        assert made["PermissionsBoundary"]["PermissionsBoundaryArn"] == arn
        assert (
            iam.get_user(UserName="kim")["User"]["PermissionsBoundary"]
            == (made["PermissionsBoundary"])
        )
        assert "PermissionsBoundary" not in iam.create_user(UserName="lou")["User"]
        with pytest.raises(ClientError, match="NoSuchEntity"):
            iam.create_user(UserName="max", PermissionsBoundary=f"{arn}-of-nobody")
        users = iam.list_users()["Users"]
        assert "max" not in {user["UserName"] for user in users}
        assert not [user for user in users if "PermissionsBoundary" in user]


class TestTrust:
    ME: ClassVar = {"RoleSessionName": "me"}
    ANYBODY: ClassVar = {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}

    def test_in_a_service_is_none_in_a_user(self, account: Account) -> None:
        user = account.user("fay", document(allow("sts:AssumeRole")))
        role = account.trusting("of-functions", {"Service": "lambda.amazonaws.com"})
        message = user.refused("sts", "assume_role", RoleArn=role, **self.ME)

        assert message.startswith(f"AccessDenied: User: arn:aws:iam::{ACCOUNT}:user/fay is not")
        assert message.endswith("because no role trust policy allows the sts:AssumeRole action")

    def test_can_depend_on_what_the_call_says(self, account: Account) -> None:
        user = account.user("gus", document(allow("sts:AssumeRole")))
        condition = {"StringEquals": {"sts:ExternalId": "secret"}}
        role = account.trusting("of-strangers", self.ANYBODY, Condition=condition)

        assert user.refused("sts", "assume_role", RoleArn=role, **self.ME)
        assert not user.refused("sts", "assume_role", RoleArn=role, ExternalId="secret", **self.ME)

    def test_in_a_user_by_name_suffices(self, account: Account) -> None:
        user = account.user("hal", document(allow("s3:*")))
        own = account.trusting("of-hal", {"AWS": f"arn:aws:iam::{ACCOUNT}:user/hal"})
        of_all = account.trusting("of-all", self.ANYBODY)

        assert not user.refused("sts", "assume_role", RoleArn=own, **self.ME)
        assert user.refused("sts", "assume_role", RoleArn=of_all, **self.ME)


class TestTheAwsCli:
    def test_it_shows_the_refusal(self, nodes: Session) -> None:
        done = nodes.cli("secretsmanager", "list-secrets")

        assert done.returncode != 0
        assert (
            "(AccessDeniedException) when calling the ListSecrets operation: User:" in done.stderr
        )
        assert "because no identity-based policy allows the secretsmanager:ListSecrets" in (
            done.stderr
        )

    def test_it_copies_what_is_allowed_in_parts(self, account: Account, tmp_path: Path) -> None:
        file = tmp_path / "large"
        file.write_bytes(os.urandom(9 * 2**20))
        writer = account.user("writer", document(allow("s3:PutObject", f"arn:aws:s3:::{OWN}/*")))

        done = writer.cli("s3", "cp", str(file), f"s3://{OWN}/large")

        assert done.returncode == 0, done.stderr
        stored = account.clients.s3.get_object(Bucket=OWN, Key="large")["Body"].read()
        assert stored == file.read_bytes()


class TestCredentials:
    def test_those_of_nobody_are_refused(self, account: Account) -> None:
        nobody = Session(account.aws, {"AccessKeyId": "AKIANOBODY", "SecretAccessKey": "x"})

        assert nobody.refused("sts", "get_caller_identity").startswith("InvalidClientTokenId")
        assert nobody.refused("s3", "list_buckets").startswith("InvalidAccessKeyId")

    def test_a_session_with_another_token_is_none(self, account: Account) -> None:
        session = account.session("Nodes")
        session.token = "stolen"

        assert session.refused("sts", "get_caller_identity").startswith("InvalidClientTokenId")

    def test_who_signs_nothing_gets_nothing(self, account: Account) -> None:
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(f"{account.aws.endpoint}/{OWN}/a")  # noqa: S310 - on this machine


def simulated(results: dict[str, Any]) -> dict[tuple[str, str], str]:
    """Return the decisions by action and resource."""
    return {
        (result["EvalActionName"], each["EvalResourceName"]): each["EvalResourceDecision"]
        for result in results["EvaluationResults"]
        for each in result["ResourceSpecificResults"]
    }


def test_the_simulator_says_of_a_role_what_the_gate_does(account: Account) -> None:
    iam = account.clients.service("iam")
    own, foreign = f"arn:aws:s3:::{OWN}/a", f"arn:aws:s3:::{FOREIGN}/a"
    of_nodes = iam.simulate_principal_policy(
        PolicySourceArn=account.arns["Nodes"],
        ActionNames=["s3:GetObject", "s3:PutObject"],
        ResourceArns=[own, "arn:aws:s3:::other/a"],
    )
    (of_bounded,) = iam.simulate_principal_policy(
        PolicySourceArn=account.arns["Bounded"],
        ActionNames=["s3:GetObject"],
        ResourceArns=[foreign],
    )["EvaluationResults"]

    assert simulated(of_nodes)["s3:GetObject", own] == "allowed"
    assert simulated(of_nodes)["s3:PutObject", own] == "implicitDeny"
    assert simulated(of_nodes)["s3:GetObject", "arn:aws:s3:::other/a"] == "implicitDeny"
    assert (of_nodes["EvaluationResults"][0]["EvalDecision"]) == "implicitDeny"
    assert of_bounded["EvalDecision"] == "implicitDeny"
    bounded = of_bounded["PermissionsBoundaryDecisionDetail"]
    assert bounded == {"AllowedByPermissionsBoundary": False}
    with pytest.raises(ClientError, match="NoSuchEntity"):
        iam.simulate_principal_policy(
            PolicySourceArn=f"arn:aws:iam::{ACCOUNT}:role/nobody", ActionNames=["s3:GetObject"]
        )


def test_the_simulator_judges_policies_that_nobody_has(account: Account) -> None:
    iam = account.clients.service("iam")
    conditional = allow("s3:GetObject", Condition={"StringEquals": {"aws:SourceVpce": "vpce-1"}})
    policy = json.dumps(document(conditional, deny("s3:DeleteObject")))
    asked = {"PolicyInputList": [policy], "ActionNames": ["s3:GetObject", "s3:DeleteObject"]}
    without = iam.simulate_custom_policy(**asked)["EvaluationResults"]
    entry = {
        "ContextKeyName": "aws:SourceVpce",
        "ContextKeyType": "string",
        "ContextKeyValues": ["vpce-1"],
    }
    with_key = iam.simulate_custom_policy(**asked, ContextEntries=[entry])["EvaluationResults"]

    assert [each["EvalDecision"] for each in without] == ["implicitDeny", "explicitDeny"]
    assert without[0]["MissingContextValues"] == ["aws:SourceVpce"]
    assert [each["EvalDecision"] for each in with_key] == ["allowed", "explicitDeny"]
    assert with_key[0]["MatchedStatements"][0]["SourcePolicyId"] == "PolicyInputList.1"
    with pytest.raises(ClientError, match="InvalidInput"):
        iam.simulate_custom_policy(PolicyInputList=["{"], ActionNames=["s3:GetObject"])

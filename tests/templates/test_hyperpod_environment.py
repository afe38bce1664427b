"""`HyperPodEnvironment` in apps of others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Environment, Stack, Stage, Tags, Validations, aws_ec2, aws_iam, aws_s3
from cdk_nag import AwsSolutionsChecks, PCIDSS321Checks

from slurmpod.deployment_record import record, record_folder
from slurmpod_cdk import HyperPodEnvironment, UnusableEnvironment
from slurmpod_cdk.feature_flags import FEATURE_FLAGS
from tests.environment_files import FILES
from tests.sound_environment import SOUND
from tests.templates.synthesis import (
    CONTEXT,
    Synthesized,
    Template,
    of_type,
    only,
    resolved_from,
)

ACCOUNT, REGION, ZONE = "123456789012", "us-west-2", "us-west-2b"
PLACE = Environment(account=ACCOUNT, region=REGION)
YAML = SOUND.replace("  vpc_cidr: 10.0.0.0/16\n", "")
EXISTING = "{vpc_id: vpc-0a1b2c3d, subnets: [{id: subnet-0a1b2c3d, zone: us-west-2b}]}"
OPPOSITE: dict[str, Any] = {
    flag: "strong" if value == "weak" else not value
    for flag, value in CONTEXT.items()
    if value in (True, False, "weak")
}
"""What an app has that chose the other value of every feature flag."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cluster.yaml"
    path.write_text(YAML)
    return path


class Network(Stack):
    """A stack of somebody's own, with a VPC in two zones."""

    def __init__(self, app: Stage, **options: Any) -> None:
        super().__init__(app, "Own", env=PLACE, **options)
        self.vpc = aws_ec2.Vpc(self, "Vpc", availability_zones=[ZONE, "us-west-2c"])
        self.group = aws_ec2.SecurityGroup(self, "Group", vpc=self.vpc)


def stacks(stage: Stage) -> Iterator[tuple[str, Any]]:
    for stack in stage.synth().stacks:
        yield stack.stack_name, stack


def templates(stage: Stage) -> dict[str, Template]:
    return {name: stack.template for name, stack in stacks(stage)}


def problem(scope: Stage, file: Path, **given: Any) -> str:
    with pytest.raises(UnusableEnvironment) as caught:
        HyperPodEnvironment.from_file(scope, "Hpc", file, **given)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    return str(caught.value)


@pytest.mark.parametrize("name", ["watched", "trainium"])
def test_templates_are_the_same_whatever_the_feature_flags_of_the_app_are(name: str) -> None:
    apps = [App(context=context) for context in (CONTEXT, {}, OPPOSITE)]
    for app in apps:
        HyperPodEnvironment.from_file(app, "Hpc", FILES[name])
    usual, bare, opposite = map(templates, apps)
    assert bare == usual
    assert opposite == usual


def test_every_feature_flag_that_counts_is_in_cdk_json() -> None:
    assert FEATURE_FLAGS.items() <= CONTEXT.items()


def test_stacks_have_the_names_and_the_place_of_the_file(file: Path) -> None:
    app = App()
    stage = Stage(app, "Prod", env=Environment(account="210987654321", region="eu-west-1"))
    made = HyperPodEnvironment.from_file(stage, "Hpc", str(file))
    assert {kind: stack.stack_name for kind, stack in made.stacks.items()} == {
        kind: f"dev-{kind}" for kind in ("network", "storage", "lifecycle", "identity", "cluster")
    }
    places = [stack.environment for _, stack in stacks(stage)]
    assert {(place.account, place.region) for place in places} == {(ACCOUNT, REGION)}


def test_an_environment_of_this_repository_can_move_into_an_app(dev: Synthesized) -> None:
    app = App()
    HyperPodEnvironment.from_file(app, "Hpc", FILES["dev"])
    moved = {name.removeprefix("dev-"): template for name, template in templates(app).items()}
    assert without_tags(moved) == without_tags(dev.templates)


def without_tags(value: Any) -> Any:
    """Return a template without tags: those of networks tell where in the app they are."""
    if isinstance(value, dict):
        return {key: without_tags(each) for key, each in value.items() if key != "Tags"}
    return [without_tags(each) for each in value] if isinstance(value, list) else value


def test_two_environments_are_in_one_app(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(YAML.replace("us-west-2", "us-east-2"))
    app = App()
    for name, each in (("West", file), ("East", other)):
        HyperPodEnvironment.from_file(Stage(app, name), "Hpc", each)
    assembly = app.synth()
    found = [
        each.stacks[0].stack_name
        for each in (assembly.get_nested_assembly(f"assembly-{name}") for name in ("West", "East"))
    ]
    assert found == ["dev-network", "dev-network"]


def test_tags_of_the_app_reach_the_environment(file: Path) -> None:
    app = App()
    HyperPodEnvironment.from_file(app, "Hpc", file)
    Tags.of(app).add("owner", "platform")
    tags = dict(stacks(app))["dev-storage"].tags
    assert tags == {"owner": "platform", "slurmpod:environment": "dev", "team": "ml"}


def test_a_vpc_of_the_app_is_used_in_place_of_a_new_one(file: Path) -> None:
    app = App()
    own = Network(app)
    HyperPodEnvironment.from_file(app, "Hpc", file, vpc=own.vpc)
    made = dict(stacks(app))
    network = made["dev-network"].template
    assert not of_type(network, "AWS::EC2::VPC")
    group = only(network, "AWS::EC2::SecurityGroup")
    assert group["VpcId"]["Fn::GetStackOutput"]["StackName"] == "Own"
    file_system = only(made["dev-storage"].template, "AWS::FSx::FileSystem")
    (subnet,) = file_system["SubnetIds"]
    output = subnet["Fn::GetStackOutput"]["OutputName"]
    chosen = made["Own"].template["Outputs"][output]["Value"]["Ref"]
    subnets = of_type(made["Own"].template, "AWS::EC2::Subnet")
    assert subnets[chosen]["Properties"]["AvailabilityZone"] == ZONE
    assert "Private" in chosen
    assert "Own" in {needed.id for needed in made["dev-network"].dependencies}


def test_subnets_and_security_groups_of_the_app_are_used(file: Path) -> None:
    app = App()
    own = Network(app)
    subnet = own.vpc.private_subnets[1]
    HyperPodEnvironment.from_file(
        app, "Hpc", file, vpc=own.vpc, subnets={ZONE: subnet}, security_groups=[own.group]
    )
    made = templates(app)
    assert "dev-network" not in made
    assert set(made) == {"Own", "dev-storage", "dev-lifecycle", "dev-identity", "dev-cluster"}
    cluster = only(made["dev-cluster"], "AWS::SageMaker::Cluster")["VpcConfig"]
    outputs = made["Own"]["Outputs"]

    def value(reference: Any) -> Any:
        return outputs[reference["Fn::GetStackOutput"]["OutputName"]]["Value"]

    assert [value(each) for each in cluster["Subnets"]] == [
        {"Ref": own.get_logical_id(subnet.node.default_child)}  # type: ignore[arg-type]
    ]
    (group,) = cluster["SecurityGroupIds"]
    assert value(group)["Fn::GetAtt"][0].startswith("Group")


def test_roles_of_the_app_are_carried_by_nodes(file: Path) -> None:
    app = App()
    own = Network(app)
    principal = aws_iam.ServicePrincipal("sagemaker.amazonaws.com")
    roles = {
        "controller": aws_iam.Role(own, "Nodes", assumed_by=principal),
        "worker": aws_iam.Role.from_role_arn(own, "Worker", f"arn:aws:iam::{ACCOUNT}:role/w"),
    }
    HyperPodEnvironment.from_file(app, "Hpc", file, roles=roles)
    made = templates(app)
    assert "dev-identity" not in made
    groups = only(made["dev-cluster"], "AWS::SageMaker::Cluster")["InstanceGroups"]
    carried = {each["InstanceGroupName"]: each["ExecutionRole"] for each in groups}
    assert carried["workers"] == f"arn:aws:iam::{ACCOUNT}:role/w"
    output = carried["controller"]["Fn::GetStackOutput"]["OutputName"]
    role, attribute = made["Own"]["Outputs"][output]["Value"]["Fn::GetAtt"]
    assert (role[: len("Nodes")], attribute) == ("Nodes", "Arn")


def test_roles_that_do_not_fit_the_file_are_refused(file: Path) -> None:
    app = App()
    own = Stack(app, "Own", env=PLACE)
    foreign = aws_iam.Role.from_role_arn(own, "Foreign", "arn:aws:iam::210987654321:role/nodes")
    assert "[IDN-005]" in problem(app, file, roles={"controller": foreign})
    assert "give one for controller" in problem(app, file, roles={"worker": foreign})
    assert "are for controller, head" in problem(
        app, file, roles={"controller": foreign, "head": foreign}
    )
    existing = f"identity: {{existing: {{controller: 'arn:aws:iam::{ACCOUNT}:role/nodes'}}}}\n"
    file.write_text(YAML + existing)
    assert "identity.existing" in problem(app, file, roles={"controller": foreign})


def test_several_zones_take_a_subnet_each(file: Path) -> None:
    file.write_text(YAML.replace("network:\n", "network:\n  other_zones: [{zone: us-west-2c}]\n"))
    app = App()
    own = Network(app)
    HyperPodEnvironment.from_file(app, "Hpc", file, vpc=own.vpc)
    assert "dev-cluster" in templates(app)


def test_the_record_of_what_is_deployed_holds_the_file(file: Path) -> None:
    """`slurmpod diff` compares the file with it, and knows nothing of the app."""
    app = App()
    own = Network(app)
    HyperPodEnvironment.from_file(app, "Hpc", file, vpc=own.vpc)
    parameters = of_type(templates(app)["dev-cluster"], "AWS::SSM::Parameter").values()
    written = {each["Properties"]["Name"]: each["Properties"]["Value"] for each in parameters}
    assert written == record(resolved_from(YAML))
    assert all(name.startswith(record_folder("dev")) for name in written)


def test_templates_do_not_depend_on_what_else_is_in_the_app(file: Path) -> None:
    """Tokens have numbers, which change with every construct before them."""
    made = []
    for others in range(2):
        app = App()
        own = Network(app)
        for number in range(others):
            aws_s3.Bucket(own, f"Bucket{number}", bucket_name=f"own-bucket-{number}")
        HyperPodEnvironment.from_file(app, "Hpc", file, vpc=own.vpc)
        made.append({k: v for k, v in templates(app).items() if k != "Own"})
    assert made[0] == made[1]


def test_a_vpc_that_is_still_to_be_looked_up_does_not_stand_in_the_way(file: Path) -> None:
    app = App()
    own = Stack(app, "Own", env=PLACE)
    vpc = aws_ec2.Vpc.from_lookup(own, "Vpc", vpc_name="shared")
    HyperPodEnvironment.from_file(app, "Hpc", file, vpc=vpc)
    assert "dev-cluster" in templates(app)
    manifest = json.loads((Path(app.outdir) / "manifest.json").read_text())
    assert [each["provider"] for each in manifest["missing"]] == ["vpc-provider"]


def test_waivers_leave_only_what_is_the_apps_own(file: Path) -> None:
    app = App()
    own = Network(app)
    made = HyperPodEnvironment.from_file(app, "Hpc", file, vpc=own.vpc)
    assert made.review() == ()
    made.apply_waivers()
    Validations.of(app).add_plugins(AwsSolutionsChecks(app), PCIDSS321Checks(app))
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        app.synth()
    report = (Path(app.outdir) / "validation-report.json").read_text()
    assert "Own/Vpc" in report
    assert "Hpc/" not in report


def test_mistakes_are_one_exception_with_the_whole_report(file: Path) -> None:
    text = YAML.replace("capacity_gib: 1200", "capacity_gib: 3600")
    file.write_text(text.replace("role: worker", "role: workr"))
    said = problem(App(), file)
    assert said.count(f"{file}:") == 2
    assert "storage.lustre.capacity_gib" in said
    assert "worker" in said
    assert "Traceback" not in said
    assert "cannot read the file" in problem(App(), file.parent / "none.yaml")


def test_warnings_are_annotations(file: Path) -> None:
    file.write_text(YAML.replace("network:\n", "network:\n  flow_logs: {traffic: NONE}\n"))
    app = App()
    HyperPodEnvironment.from_file(app, "Hpc", file)
    (warning,) = dict(stacks(app))["dev-cluster"].messages
    assert "FLO-001" in str(warning.entry.data)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("zone: us-west-2b", "zone: usw2-az2", "no private subnet in the zone usw2-az2"),
        (
            "us-west-2",
            "us-east-2",
            "is in us-west-2, and the file describes a cluster in us-east-2",
        ),
        (ACCOUNT, "210987654321", "is in 123456789012"),
        ("  zone:", "  nat: one\n  zone:", "nat"),
        (
            "  zone:",
            f"  existing: {EXISTING}\n  zone:",
            "network.existing",
        ),
    ],
)
def test_a_vpc_that_does_not_fit_the_file_is_refused(
    file: Path, old: str, new: str, said: str
) -> None:
    file.write_text(YAML.replace(old, new))
    app = App()
    text = problem(app, file, vpc=Network(app).vpc)
    assert said in text
    assert "fix: " in text
    assert str(file) in text


def test_a_vpc_is_made_in_a_known_region(file: Path) -> None:
    app = App()
    vpc = aws_ec2.Vpc(Stack(app, "Own"), "Vpc", availability_zones=[ZONE])
    assert "the stack that makes Own/Vpc has no Region" in problem(app, file, vpc=vpc)


def test_a_vpc_that_is_there_already_has_its_ids_in_the_templates(file: Path) -> None:
    app = App()
    vpc = aws_ec2.Vpc.from_vpc_attributes(
        Stack(app, "Own"),
        "Vpc",
        vpc_id="vpc-0a1b2c3d",
        availability_zones=[ZONE],
        private_subnet_ids=["subnet-0a1b2c3d"],
    )
    HyperPodEnvironment.from_file(app, "Hpc", file, vpc=vpc)
    made = templates(app)
    assert only(made["dev-network"], "AWS::EC2::SecurityGroup")["VpcId"] == "vpc-0a1b2c3d"
    storage = only(made["dev-storage"], "AWS::FSx::FileSystem")
    assert storage["SubnetIds"] == ["subnet-0a1b2c3d"]


def test_subnets_need_their_vpc_and_every_zone_a_subnet(file: Path) -> None:
    app = App()
    own = Network(app)
    subnets = {"us-west-2c": own.vpc.private_subnets[0]}
    assert "without their VPC" in problem(app, file, subnets=subnets)
    assert "names us-west-2b" in problem(app, file, vpc=own.vpc, subnets=subnets)


def test_several_subnets_in_a_zone_are_chosen_from(file: Path) -> None:
    app = App()
    private = [
        aws_ec2.SubnetConfiguration(name=name, subnet_type=aws_ec2.SubnetType.PRIVATE_ISOLATED)
        for name in ("One", "Two")
    ]
    own = Stack(app, "Own", env=PLACE)
    vpc = aws_ec2.Vpc(own, "Vpc", availability_zones=[ZONE], subnet_configuration=private)
    assert "several private subnets in the zone us-west-2b" in problem(app, file, vpc=vpc)


def test_subnets_that_are_too_small_for_the_nodes_are_refused(file: Path) -> None:
    file.write_text(YAML.replace("count: 2", "count: 400"))
    app = App()
    own = Stack(app, "Own", env=PLACE)
    cidr = aws_ec2.IpAddresses.cidr("10.0.0.0/24")
    vpc = aws_ec2.Vpc(own, "Vpc", availability_zones=[ZONE], ip_addresses=cidr)
    assert "addresses" in problem(app, file, vpc=vpc)

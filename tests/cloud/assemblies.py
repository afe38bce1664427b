"""Cloud assemblies deployed through the API: what the CDK's command line does, without its start.

For tests that look at what was deployed: a start of the CDK's command line takes a second, and it
asks again and again how far its stacks are.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Container, Mapping
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from embedded_aws.clients import Clients
from tests.cloud.embedded_stacks import Outcome, Stacks

ASSETS, STACK, NESTED = "cdk:asset-manifest", "aws:cloudformation:stack", "cdk:cloud-assembly"
CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]
UNCHANGED = "No updates are to be performed"

InRegion = Callable[[str], Clients]


def deploy(
    clients: InRegion, assembly: Path, wanted: Container[str] | None = None
) -> dict[str, Outcome]:
    """Create or update stacks of an assembly, with files they need; return how those ended.

    All of them, unless some are `wanted`. A stack that does not differ is left out.
    """
    artifacts = json.loads((assembly / "manifest.json").read_bytes())["artifacts"]
    found: dict[str, Outcome] = {}
    for nested in _of_type(artifacts, NESTED).values():
        found |= deploy(clients, assembly / nested["properties"]["directoryName"], wanted)
    stacks = {
        name: each
        for name, each in _of_type(artifacts, STACK).items()
        if wanted is None or _named(name, each) in wanted
    }
    needs = {name: set(each.get("dependencies", ())) for name, each in stacks.items()}
    for name in TopologicalSorter(needs).static_order():
        if artifacts[name]["type"] == ASSETS:
            _publish(clients, assembly / artifacts[name]["properties"]["file"])
        elif name in stacks:
            named, region = _named(name, stacks[name]), _region(stacks[name])
            if outcome := _deploy(clients(region), named, stacks[name]["properties"], region):
                found[named] = outcome
    return found


def _named(name: str, stack: Mapping[str, Any]) -> str:
    """Return the name of a stack in the account, by its name in the assembly."""
    return str(stack["properties"].get("stackName", name))


def _region(stack: Mapping[str, Any]) -> str:
    return str(stack["environment"].rpartition("/")[2])


def _deploy(clients: Clients, name: str, given: Mapping[str, Any], region: str) -> Outcome | None:
    api = clients.service("cloudformation")
    there = {each["StackName"] for each in api.describe_stacks()["Stacks"]}
    place = given["stackTemplateAssetObjectUrl"].removeprefix("s3://")
    try:
        made = (api.update_stack if name in there else api.create_stack)(
            StackName=name,
            TemplateURL=f"https://s3.{region}.amazonaws.com/{place}",
            Capabilities=CAPABILITIES,
            RoleARN=_in_partition(given["cloudFormationExecutionRoleArn"]),
            Tags=[{"Key": key, "Value": value} for key, value in given.get("tags", {}).items()],
        )
    except ClientError as error:
        if UNCHANGED in str(error):
            return None
        raise
    api.update_termination_protection(
        StackName=name, EnableTerminationProtection=given.get("terminationProtection", False)
    )
    return Stacks(clients).outcome(made["StackId"])


def _publish(clients: InRegion, manifest: Path) -> None:
    """Put files and folders, packed, into the bucket of the bootstrap, unless they are there."""
    for asset in json.loads(manifest.read_bytes())["files"].values():
        source = manifest.parent / asset["source"]["path"]
        for place in asset["destinations"].values():
            bucket, key = place["bucketName"], place["objectKey"]
            s3 = clients(place["region"]).s3
            if not s3.list_objects_v2(Bucket=bucket, Prefix=key)["KeyCount"]:
                is_packed = asset["source"]["packaging"] == "zip"
                body = _packed(source) if is_packed else source.read_bytes()
                s3.put_object(Bucket=bucket, Key=key, Body=body)


def _packed(folder: Path) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder))
    return packed.getvalue()


def _in_partition(arn: str) -> str:
    return arn.replace("${AWS::Partition}", "aws")


def _of_type(artifacts: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return {name: each for name, each in artifacts.items() if each["type"] == kind}

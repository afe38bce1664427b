from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slurmpod.rendering import Placeholder
from tests.stacks.synthesis import of_type, only, synthesize

if TYPE_CHECKING:
    from tests.stacks.synthesis import Synthesized

DEPLOYMENT = "Custom::CDKBucketDeployment"


def assets(example: Synthesized) -> list[dict[str, str]]:
    """Return what the deployment takes from the assembly: per source, path -> text."""
    directory = Path(example.app.outdir)
    manifest = json.loads(
        (directory / f"{example.resolved.stacks.lifecycle}.assets.json").read_text()
    )
    sources = []
    for key in only(example.templates["lifecycle"], DEPLOYMENT)["SourceObjectKeys"]:
        folder = directory / manifest["files"][key.removesuffix(".zip")]["source"]["path"]
        files = (path for path in folder.rglob("*") if path.is_file())
        sources.append({path.relative_to(folder).as_posix(): path.read_text() for path in files})
    return sources


def test_the_bucket_is_private_encrypted_versioned_and_kept(example: Synthesized) -> None:
    template = example.templates["lifecycle"]
    bucket = only(template, "AWS::S3::Bucket")
    (resource,) = of_type(template, "AWS::S3::Bucket").values()
    assert bucket["BucketName"] == example.resolved.lifecycle.bucket
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert bucket["BucketEncryption"]
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    assert resource["DeletionPolicy"] == "RetainExceptOnCreate"
    assert resource["UpdateReplacePolicy"] == "Retain"


def test_the_bucket_refuses_requests_without_tls(example: Synthesized) -> None:
    policy = only(example.templates["lifecycle"], "AWS::S3::BucketPolicy")
    (statement,) = policy["PolicyDocument"]["Statement"]
    assert statement["Effect"] == "Deny"
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_the_bundle_is_deployed_under_its_prefix_and_earlier_ones_stay(
    example: Synthesized,
) -> None:
    deployment = only(example.templates["lifecycle"], DEPLOYMENT)
    assert deployment["DestinationBucketKeyPrefix"] == example.bundle.prefix
    assert deployment["Prune"] is False
    assert deployment["RetainOnDelete"] is True


def test_every_file_of_the_bundle_is_deployed_once(dev: Synthesized) -> None:
    deployed = [path for source in assets(dev) for path in source]
    assert sorted(deployed) == sorted(dev.bundle.files)


def test_static_files_are_deployed_byte_for_byte(dev: Synthesized) -> None:
    static, *_ = assets(dev)
    assert {path: text.encode() for path, text in static.items()} == {
        path: content
        for path, content in dev.bundle.files.items()
        if path not in dev.bundle.deploy_time_files
    }


def test_placeholders_become_values_of_the_file_system(dev: Synthesized) -> None:
    deployment = only(dev.templates["lifecycle"], DEPLOYMENT)
    outputs = dev.templates["storage"]["Outputs"]

    def attribute(value: dict[str, Any]) -> str:
        name: str = outputs[value["Fn::GetStackOutput"]["OutputName"]]["Value"]["Fn::GetAtt"][1]
        return name

    expected = {
        Placeholder.FILE_SYSTEM_DNS_NAME: "DNSName",
        Placeholder.FILE_SYSTEM_MOUNT_NAME: "LustreMountName",
    }
    sources = zip(assets(dev), deployment["SourceMarkers"], strict=True)
    _, *deploy_time = sources
    assert deploy_time
    for source, markers in deploy_time:
        ((path, text),) = source.items()
        for marker, value in markers.items():
            placeholder = next(p for p, name in expected.items() if name == attribute(value))
            text = text.replace(marker, placeholder)
        assert text.encode() == dev.bundle.files[path]


def test_values_are_escaped_in_json(dev: Synthesized) -> None:
    deployment = only(dev.templates["lifecycle"], DEPLOYMENT)
    _, *deploy_time = deployment["SourceMarkersConfig"]
    assert all(config == {"jsonEscape": True} for config in deploy_time)


def test_a_changed_bundle_changes_what_the_cluster_fetches(dev: Synthesized) -> None:
    resolved = replace(dev.resolved, accounting=not dev.resolved.accounting)
    changed = synthesize(resolved)

    def source(example: Synthesized) -> str:
        groups = only(example.templates["cluster"], "AWS::SageMaker::Cluster")["InstanceGroups"]
        uri: str = groups[0]["LifeCycleConfig"]["SourceS3Uri"]
        return uri

    assert source(changed) != source(dev)
    assert only(changed.templates["lifecycle"], "AWS::S3::Bucket")["BucketName"] == (
        dev.resolved.lifecycle.bucket
    )

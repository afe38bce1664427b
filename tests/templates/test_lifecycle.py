from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from slurmpod.bundle import lustre_placeholders
from slurmpod.reading.read import read
from slurmpod.resolve import resolve
from tests.sound_environment import SOUND
from tests.templates.synthesis import Synthesized, of_type, only, resolved_from, synthesize

DEPLOYMENT = "Custom::CDKBucketDeployment"

FILE_SYSTEMS = """
  additional_lustre:
    - {name: scratch, mount_path: /scratch}
    - name: archive
      mount_path: /archive
      existing: {id: fs-0123456789abcdef0, mount_name: abcdefgh}
  openzfs: {mount_path: /home}
"""


def assets(example: Synthesized) -> list[dict[str, bytes]]:
    """Return what the deployment takes from the assembly: per source, path -> content."""
    directory = Path(example.app.outdir)
    manifest = json.loads(
        (directory / f"{example.resolved.stacks.lifecycle}.assets.json").read_text()
    )
    sources = []
    for key in only(example.templates["lifecycle"], DEPLOYMENT)["SourceObjectKeys"]:
        folder = directory / manifest["files"][key.removesuffix(".zip")]["source"]["path"]
        files = (path for path in folder.rglob("*") if path.is_file())
        sources.append({path.relative_to(folder).as_posix(): path.read_bytes() for path in files})
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


def test_the_bucket_goes_with_all_versions_when_that_is_asked_for() -> None:
    text = f"{SOUND}lifecycle:\n  bucket_on_delete: delete\n"
    template = synthesize(resolved_from(text)).templates["lifecycle"]
    (resource,) = of_type(template, "AWS::S3::Bucket").values()
    assert resource["DeletionPolicy"] == resource["UpdateReplacePolicy"] == "Delete"
    assert only(template, "Custom::S3AutoDeleteObjects")


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
    assert static == {
        path: content
        for path, content in dev.bundle.files.items()
        if path not in dev.bundle.deploy_time_files
    }


def filled_in(example: Synthesized) -> dict[str, str]:
    """Return the deploy-time files with `<attribute of>` in place of the CDK's markers."""
    deployment = only(example.templates["lifecycle"], DEPLOYMENT)
    outputs = example.templates["storage"]["Outputs"]

    def attribute(value: dict[str, Any]) -> str:
        logical_id, name = outputs[value["Fn::GetStackOutput"]["OutputName"]]["Value"]["Fn::GetAtt"]
        return f"<{name} of {logical_id}>"

    _, *deploy_time = zip(assets(example), deployment["SourceMarkers"], strict=True)
    filled = {}
    for source, markers in deploy_time:
        ((path, content),) = source.items()
        text = content.decode()
        for marker, value in markers.items():
            text = text.replace(marker, attribute(value))
        filled[path] = text
    return filled


def test_placeholders_become_values_of_the_file_system(dev: Synthesized) -> None:
    placeholders = lustre_placeholders("lustre")
    (logical_id,) = of_type(dev.templates["storage"], "AWS::FSx::FileSystem")
    for path, text in filled_in(dev).items():
        expected = dev.bundle.files[path].decode()
        expected = expected.replace(placeholders.dns_name, f"<DNSName of {logical_id}>")
        expected = expected.replace(placeholders.mount_name, f"<LustreMountName of {logical_id}>")
        assert text == expected


def test_every_new_file_system_has_its_own_values_and_existing_ones_are_known() -> None:
    several = synthesize(resolved_from(SOUND.replace("\ncluster:", f"{FILE_SYSTEMS}cluster:", 1)))
    systems = json.loads(filled_in(several)["settings.json"])["file_systems"]
    names = {system["mount_path"]: system["dns_name"] for system in systems}
    assert names["/archive"] == "fs-0123456789abcdef0.fsx.us-west-2.amazonaws.com"
    new = [names[path] for path in ("/fsx", "/scratch", "/home")]
    assert len(set(new)) == 3
    assert all(name.startswith("<DNSName of ") for name in new)
    assert "@" not in "".join(names.values())


def test_values_are_escaped_in_json(dev: Synthesized) -> None:
    deployment = only(dev.templates["lifecycle"], DEPLOYMENT)
    _, *deploy_time = deployment["SourceMarkersConfig"]
    assert all(config == {"jsonEscape": True} for config in deploy_time)


def test_own_scripts_are_deployed_byte_for_byte_beside_our_parameters(tmp_path: Path) -> None:
    own = {"on_create.sh": b"#!/bin/sh\r\n", "bin/.tool": bytes(range(256)), "README": b""}
    for path, content in own.items():
        (tmp_path / "scripts" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "scripts" / path).write_bytes(content)
    (tmp_path / "environment.yaml").write_text(f"{SOUND}lifecycle:\n  scripts: ./scripts\n")
    example = synthesize(resolve(read(tmp_path / "environment.yaml")))
    static, parameters = assets(example)
    assert static == own
    assert list(parameters) == ["provisioning_parameters.json"]


def test_in_managed_mode_there_is_no_lifecycle_stack() -> None:
    example = synthesize(resolved_from(f"{SOUND}lifecycle:\n  mode: managed\n"))
    assert "lifecycle" not in example.templates
    assert not any(of_type(template, "AWS::S3::Bucket") for template in example.templates.values())


@pytest.mark.parametrize(
    ("mode", "member", "script"),
    [
        ("customer", "OnCreate", "on_create.sh"),
        ("extended", "OnInitComplete", "on_init_complete.sh"),
    ],
)
def test_the_cluster_starts_the_script_of_the_mode(mode: str, member: str, script: str) -> None:
    example = synthesize(resolved_from(f"{SOUND}lifecycle:\n  mode: {mode}\n"))
    groups = only(example.templates["cluster"], "AWS::SageMaker::Cluster")["InstanceGroups"]
    uri = f"s3://{example.resolved.lifecycle.bucket}/{example.bundle.prefix}"
    for group in groups:
        assert group["LifeCycleConfig"] == {"SourceS3Uri": uri, member: script}
    assert script in example.bundle.files


def test_a_changed_bundle_changes_what_the_cluster_fetches(dev: Synthesized) -> None:
    lifecycle = replace(dev.resolved.lifecycle, step_timeout_seconds=1234)
    changed = synthesize(replace(dev.resolved, lifecycle=lifecycle))

    def source(example: Synthesized) -> str:
        groups = only(example.templates["cluster"], "AWS::SageMaker::Cluster")["InstanceGroups"]
        uri: str = groups[0]["LifeCycleConfig"]["SourceS3Uri"]
        return uri

    assert source(changed) != source(dev)
    assert only(changed.templates["lifecycle"], "AWS::S3::Bucket")["BucketName"] == (
        dev.resolved.lifecycle.bucket
    )


def test_what_replaces_a_file_system_deploys_the_bundle_again_and_nothing_else_does() -> None:
    def generation(text: str) -> object:
        template = synthesize(resolved_from(text)).templates["lifecycle"]
        (deployment,) = of_type(template, "Custom::CDKBucketDeployment").values()
        return deployment["Properties"]["UserMetadata"]

    other_type = SOUND.replace("capacity_gib: 1200", "deployment_type: SCRATCH_2", 1)
    assert generation(SOUND) != generation(other_type)
    assert generation(SOUND) == generation(SOUND.replace("count: 2", "count: 3", 1))

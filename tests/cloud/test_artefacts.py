"""Packages from where they are published into an environment's bucket, in an embedded AWS."""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import boto3
import pytest

from embedded_aws.clients import SECRET_ACCESS_KEY, Clients, access_key_id
from embedded_aws.isolation import isolated_environment, variables
from slurmpod.aws.bucket import Bucket
from slurmpod.aws.clients import AwsClients
from slurmpod.aws.errors import AwsUnavailable
from slurmpod.bundle.settings import settings_of
from slurmpod.environment.cluster import Role
from slurmpod.operations.artefacts import NotMirrored, mirror, mirrored
from slurmpod.permissions.registry import grants
from slurmpod.permissions.scope import expected_scope
from slurmpod.reading.read import Reading, read_as
from slurmpod.resolve import Resolved, resolve
from tests.cloud.embedded_stacks import ACCOUNT, REGION
from tests.sound_environment import SOUND

PACKAGES = {"enroot_amd64.deb": b"the package enroot", "pyxis_amd64.deb": b"the package pyxis"}
SUMS = {name: hashlib.sha256(content).hexdigest() for name, content in PACKAGES.items()}
TEXT = f"""{SOUND.replace("123456789012", ACCOUNT)}
lifecycle:
  containers: true
  artefacts:
    - name: enroot
      url: https://127.0.0.1:1/enroot_amd64.deb
      sha256: {SUMS["enroot_amd64.deb"]}
    - name: pyxis
      url: https://127.0.0.1:1/pyxis_amd64.deb
      sha256: {SUMS["pyxis_amd64.deb"]}
"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def published(tmp_path: Path) -> Iterator[str]:
    """Return the URL of a server that has the packages, and the folder with them."""
    for name, content in PACKAGES.items():
        (tmp_path / name).write_bytes(content)
    handler = partial(Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def environment(place: str = "https://127.0.0.1:1") -> Resolved:
    """Return the environment, whose packages are published at `place`."""
    loaded = read_as("dev.yaml", TEXT)
    assert loaded.environment is not None, loaded.problems
    lifecycle = loaded.environment.lifecycle
    artefacts = tuple(
        each.model_copy(update={"url": f"{place}/{each.url.rpartition('/')[2]}"})
        for each in lifecycle.artefacts
    )
    changed = lifecycle.model_copy(update={"artefacts": artefacts})
    return resolve(Reading(loaded.environment.model_copy(update={"lifecycle": changed})))


@pytest.fixture
def bucket(clients: Clients) -> Iterator[Bucket]:
    name = environment().lifecycle.bucket
    clients.s3.create_bucket(
        Bucket=name, CreateBucketConfiguration={"LocationConstraint": "us-west-2"}
    )
    session = boto3.session.Session(
        aws_access_key_id=access_key_id(ACCOUNT),
        aws_secret_access_key=SECRET_ACCESS_KEY,
        region_name=REGION,
    )
    yield Bucket(AwsClients(session, clients.endpoint), name)
    for item in clients.s3.list_objects_v2(Bucket=name).get("Contents", []):
        clients.s3.delete_object(Bucket=name, Key=item["Key"])
    clients.s3.delete_bucket(Bucket=name)


def keys(clients: Clients, bucket: Bucket) -> list[str]:
    listed = clients.s3.list_objects_v2(Bucket=bucket.name).get("Contents", [])
    return [item["Key"] for item in listed]


def ignore(_: str) -> None: ...


def missing(bucket: Bucket, resolved: Resolved) -> list[str]:
    return [each.artefact.name for each in mirrored(bucket, resolved) if not each.is_there]


def test_packages_are_put_where_nodes_look_for_them(
    bucket: Bucket, clients: Clients, published: str
) -> None:
    resolved = environment(published)
    mirror(bucket, mirrored(bucket, resolved), ignore)
    assert missing(bucket, resolved) == []
    for each, content in zip(settings_of(resolved).node.artefacts, PACKAGES.values(), strict=True):
        key = each.mirror.removeprefix(f"s3://{bucket.name}/")
        body = clients.s3.get_object(Bucket=bucket.name, Key=key)["Body"]
        assert body.read() == content


def test_nodes_may_read_them() -> None:
    resolved = environment()
    (statement,) = (
        grant.statement()
        for grant in grants(expected_scope(resolved, frozenset(Role)))
        if grant.sid == "GetLifecycleScripts"
    )
    folder = statement["Resource"][0].removesuffix("*")
    for each in settings_of(resolved).node.artefacts:
        assert each.mirror.replace("s3://", "arn:aws:s3:::").startswith(folder)


def test_what_is_there_is_not_fetched_again(bucket: Bucket, published: str, tmp_path: Path) -> None:
    resolved = environment(published)
    enroot, _ = mirrored(bucket, resolved)
    mirror(bucket, [enroot], ignore)
    (tmp_path / "enroot_amd64.deb").unlink()
    assert missing(bucket, resolved) == ["pyxis"]
    mirror(bucket, [each for each in mirrored(bucket, resolved) if not each.is_there], ignore)
    assert missing(bucket, resolved) == []


def test_of_a_changed_package_both_sums_are_told_and_nothing_is_uploaded(
    bucket: Bucket, clients: Clients, published: str, tmp_path: Path
) -> None:
    resolved = environment(published)
    (tmp_path / "pyxis_amd64.deb").write_bytes(b"something else")
    found = hashlib.sha256(b"something else").hexdigest()
    with pytest.raises(NotMirrored) as raised:
        mirror(bucket, mirrored(bucket, resolved), ignore)
    assert found in str(raised.value)
    assert SUMS["pyxis_amd64.deb"] in str(raised.value)
    assert keys(clients, bucket) == []


def test_all_that_cannot_be_fetched_is_told_at_once(
    bucket: Bucket, published: str, tmp_path: Path
) -> None:
    for name in PACKAGES:
        (tmp_path / name).unlink()
    with pytest.raises(NotMirrored) as raised:
        mirror(bucket, mirrored(bucket, environment(published)), ignore)
    for name in PACKAGES:
        assert f"cannot fetch {published}/{name}: " in str(raised.value)


def test_without_the_bucket_it_says_so(bucket: Bucket) -> None:
    nowhere = Bucket(bucket.clients, "sagemaker-nowhere")
    with pytest.raises(AwsUnavailable, match="cannot look into the bucket sagemaker-nowhere"):
        mirrored(nowhere, environment())


def test_the_command_shows_what_is_there(
    bucket: Bucket, clients: Clients, published: str, tmp_path: Path
) -> None:
    mirror(bucket, mirrored(bucket, environment(published))[:1], ignore)
    file = tmp_path / "dev.yaml"
    file.write_text(TEXT)
    listed = command(clients.endpoint, "list", str(file), "--json")
    assert [each["mirrored"] for each in json.loads(listed.stdout)] == [True, False]
    failed = command(clients.endpoint, "mirror", str(file))
    assert failed.returncode == 1
    assert "pyxis (x86_64): cannot fetch https://127.0.0.1:1/pyxis_amd64.deb" in failed.stderr
    assert "enroot (x86_64): from" not in failed.stderr


def test_without_packages_nobody_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "dev.yaml"
    file.write_text(SOUND)
    listed = command("http://127.0.0.1:1", "list", str(file), "--json")
    assert (listed.returncode, json.loads(listed.stdout)) == (0, [])
    assert "names no packages (lifecycle.artefacts)" in listed.stderr


def command(endpoint: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    led = variables(endpoint=endpoint, account=ACCOUNT, region=REGION)
    program = "from slurmpod.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-P", "-c", program, "artefacts", *arguments],
        env=isolated_environment(os.environ, led),
        capture_output=True,
        text=True,
        check=False,
    )

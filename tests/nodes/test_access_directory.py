"""Directory users on real nodes: SSSD queries a real OpenLDAP server, encrypted, by password."""

from __future__ import annotations

import json
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from slurmpod.platform_profiles.slurm_versions import SlurmVersion
from slurmpod.rehearsal.nodes.additions import Additions
from slurmpod.rehearsal.nodes.image import bake
from slurmpod.rehearsal.shell import CommandFailed, Shell
from tests.nodes.conftest import wait_until
from tests.nodes.hyperpod_lab import BUCKET, HyperPodLab
from tests.nodes.hyperpod_lab import group as group_by_api
from tests.nodes.test_lifecycle_bundles import by_api, upload

PACKAGES = ("sssd-ldap", "libnss-sss", "libpam-sss", "slapd")
"""The packages of a custom image: SSSD, and here the server too."""
PROFILES = ("ami-2026-01",)
"""Debian testing, whose Slurm is newer, has no SSSD for its Python."""

MARK = "never-shown"
BIND_PASSWORD = f"it's #1; \\o/ $(id) {MARK}"
DORAS_PASSWORD = "dora's own"
SCRIPTS = f"/tmp/{BUCKET}/directory"  # noqa: S108
ENTRY = f"cd {SCRIPTS} && bash ./on_init_complete.sh 2>&1"
GROUPS = {"head": "Controller", "cpu": "Compute"}
"""The Slurm role of a group, by its name."""

ENVIRONMENT = """
edition: 2026
name: directory
account: "123456789012"
region: us-west-2
network: {{zone: us-west-2a}}
cluster:
  groups:
    - {{name: head, role: controller, instance_type: ml.m5.large}}
    - {{name: cpu, role: worker, instance_type: ml.m5.large, partition: cpu}}
slurm:
  accounts:
    - {{name: research, total_resources: {{node: 10}}}}
access:
  users:
    - {{name: alice, uid: 20001}}
  directory:
    uris: [ldaps://ldap.example.com]
    base_dn: dc=example,dc=com
    bind_dn: cn=nodes,dc=example,dc=com
    bind_secret_arn: {secret}
    allowed_groups: [hpc-users]
    ca_certificate: |
{certificate}
"""

CONFIGURATION = """\
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
modulepath /usr/lib/ldap
moduleload back_mdb
TLSCertificateFile /root/directory/server.pem
TLSCertificateKeyFile /root/directory/server.key
security ssf=128
database mdb
suffix dc=example,dc=com
directory /root/directory/data
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact=cn=nodes,dc=example,dc=com read by * none
"""

ENTRIES = f"""\
dn: dc=example,dc=com
objectClass: domain
dc: example

dn: cn=nodes,dc=example,dc=com
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: nodes
userPassword: {BIND_PASSWORD}

dn: uid=dora,dc=example,dc=com
objectClass: account
objectClass: posixAccount
uid: dora
cn: Dora Example
uidNumber: 40001
gidNumber: 40100
homeDirectory: /somewhere/else
userPassword: {DORAS_PASSWORD}

dn: uid=eve,dc=example,dc=com
objectClass: account
objectClass: posixAccount
uid: eve
cn: Eve Example
uidNumber: 40002
gidNumber: 40100
homeDirectory: /somewhere/else

dn: cn=everybody,dc=example,dc=com
objectClass: posixGroup
cn: everybody
gidNumber: 40100

dn: cn=hpc-users,dc=example,dc=com
objectClass: posixGroup
cn: hpc-users
gidNumber: 40101
memberUid: dora
"""

PREPARE = """\
until address=$(jq -er '.InstanceGroups[] | select(.Name == "head")
    | .Instances[0].CustomerIpAddress' /opt/ml/config/resource_config.json); do sleep 0.2; done
grep -q ldap.example.com /etc/hosts || echo "$address ldap.example.com" >>/etc/hosts
cat >/usr/local/bin/aws <<'END'
#!/bin/sh
cat <<'SECRET'
{secret}
SECRET
END
chmod 755 /usr/local/bin/aws
if ip -4 address show | grep -q "inet $address/" && [ ! -e /root/directory ]; then
    systemctl disable --now --quiet slapd
    mkdir -p /root/directory/data
    cd /root/directory
{files}
    slapadd -f slapd.conf -l entries.ldif
    systemd-run --quiet --unit=directory slapd -d 0 -f $PWD/slapd.conf -h 'ldap:/// ldaps:///'
    cd "$OLDPWD"
fi
"""
"""The first commands of a node of the lab: the controller is the directory server, too."""


@pytest.fixture(scope="module")
def own_image(image: Path) -> Path:
    assert image  # machines can be created here
    return bake(print, Additions(packages=PACKAGES), SlurmVersion.V24_11)


@pytest.fixture(scope="module")
def lab(own_image: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HyperPodLab]:
    folder = tmp_path_factory.mktemp("directory")
    certificates = folder / "certificates"
    certificates.mkdir()
    make_certificates(certificates)
    (folder / "lab").mkdir()
    with HyperPodLab(folder / "lab", own_image, PROFILES) as lab:
        prepare = preparation(certificates)
        uri = upload(lab, environment(lab, certificates), on_init_complete=prepare)
        common = by_api(lab, uri)
        groups = [group_by_api(name, node_type, **common) for name, node_type in GROUPS.items()]
        lab.create_continuously("directory", groups)
        yield lab


NAMED = "-subj /CN=ldap.example.com -addext subjectAltName=DNS:ldap.example.com"
SIGNED = "-CA ca.pem -CAkey ca.key -CAcreateserial -days 2"


def make_certificates(folder: Path) -> None:
    """Create an authority, and a certificate of ldap.example.com that it signs."""
    for command in (
        "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=authority -keyout ca.key -out ca.pem",
        f"req -newkey rsa:2048 -nodes {NAMED} -keyout server.key -out server.csr",
        f"x509 -req -in server.csr {SIGNED} -copy_extensions copy -out server.pem",
    ):
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)


def environment(lab: HyperPodLab, certificates: Path) -> str:
    authority = textwrap.indent((certificates / "ca.pem").read_text(), " " * 6)
    secret = lab.secret("directory", password=BIND_PASSWORD)
    return ENVIRONMENT.format(secret=secret, certificate=authority)


def preparation(certificates: Path) -> str:
    files = {
        "slapd.conf": CONFIGURATION,
        "entries.ldif": ENTRIES,
        "server.pem": (certificates / "server.pem").read_text(),
        "server.key": (certificates / "server.key").read_text(),
    }
    written = "".join(f"cat >{name} <<'END'\n{text}END\n" for name, text in files.items())
    secret = json.dumps({"password": BIND_PASSWORD})
    return PREPARE.replace("{secret}", secret).replace("{files}", written)


def root(lab: HyperPodLab, group: str, command: str) -> str:
    return lab.shell("directory", group, user="root").run(["sh", "-c", command])


def shell(lab: HyperPodLab, group: str, user: str) -> Shell:
    return lab.shell("directory", group, user=user)


def test_its_people_have_the_same_ids_on_all_nodes(lab: HyperPodLab) -> None:
    for group in GROUPS:
        seen = root(lab, group, "id dora; getent passwd dora")
        assert seen.splitlines() == [
            "uid=40001(dora) gid=40100(everybody) groups=40100(everybody),40101(hpc-users)",
            "dora:*:40001:40100:Dora Example:/fsx/home/dora:/bin/bash",
        ]


def test_they_log_in_with_their_passwords(lab: HyperPodLab) -> None:
    login = ["su", "dora", "--command", "id -un"]
    assert shell(lab, "cpu", "alice").run(login, stdin=f"{DORAS_PASSWORD}\n") == "dora"
    with pytest.raises(CommandFailed, match="failure"):
        shell(lab, "cpu", "alice").run(login, stdin="another\n")


def test_only_members_of_the_allowed_groups_get_in(lab: HyperPodLab) -> None:
    assert root(lab, "cpu", "su dora --command 'id -un'") == "dora"
    with pytest.raises(CommandFailed, match="Permission denied"):
        root(lab, "cpu", "su eve --command 'id -un'")


def test_they_run_jobs_in_an_account_and_have_a_home(lab: HyperPodLab) -> None:
    dora = shell(lab, "cpu", "dora")
    assert dora.run(["srun", "--chdir=/fsx/home/dora", "sh", "-c", "id -u; pwd"]).split() == [
        "40001",
        "/fsx/home/dora",
    ]
    ask = ["sacct", "-X", "-nP", "--format=user,account,state"]
    wait_until(lambda: dora.run(ask) == "dora|research|COMPLETED", "the record of the job")


def test_the_password_is_in_no_file_but_one(lab: HyperPodLab) -> None:
    for group in GROUPS:
        conf = "/etc/sssd/sssd.conf"
        assert root(lab, group, f"stat -c %a:%U {conf}") in {"600:root", "640:root"}  # its choice
        assert BIND_PASSWORD in root(lab, group, f"cat {conf}")
        looked_at = f"/etc/slurmpod /var/log/provision /var/log/sssd {SCRIPTS}/settings.json"
        assert root(lab, group, f"grep -rlF {MARK} {looked_at} || :") == ""
        assert MARK not in "\n".join(lab.output("directory", group))


def test_a_second_run_of_the_scripts_changes_nothing(lab: HyperPodLab) -> None:
    for group in GROUPS:
        again = root(lab, group, ENTRY)
        for step in ("users", "logins", "sssd", "homes"):
            assert f"{step}: already done" in again, again


def test_ldap_without_s_is_encrypted_too(lab: HyperPodLab) -> None:
    """The server rejects unencrypted requests: see `security` in its configuration."""
    settings = json.loads(root(lab, "cpu", f"cat {SCRIPTS}/settings.json"))
    settings["access"]["directory"]["uris"] = ["ldap://ldap.example.com"]
    path = f"{SCRIPTS}/settings.json"
    lab.shell("directory", "cpu", user="root").run(["tee", path], stdin=json.dumps(settings))
    assert "sssd: done" in root(lab, "cpu", f"rm -f /var/lib/sss/db/*; {ENTRY}")
    assert "40002(eve)" in root(lab, "cpu", "id eve").replace("uid=", "")

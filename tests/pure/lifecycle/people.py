"""Made-up people for the tests of steps."""

from __future__ import annotations

from dataclasses import replace

from slurmpod_lifecycle.settings import Access, Association, Directory, Group, User

KEY = "ssh-ed25519 AAAA alice@laptop"
ALICE = User(
    name="alice",
    uid=20001,
    full_name="Alice Example",
    group="lab",
    groups=("vision",),
    home="/fsx/home/alice",
    ssh_keys=(KEY,),
    admin=True,
    associations=(
        Association("research", {"Fairshare": "2", "QOS": ["normal"], "DefaultQOS": "normal"}),
    ),
)
BOB = replace(
    ALICE,
    name="bob",
    uid=20002,
    full_name="",
    group="bob",
    groups=(),
    home="/fsx/home/bob",
    ssh_keys=(),
    admin=False,
    associations=(),
)
DIRECTORY = Directory(
    uris=("ldaps://ldap.example.com", "ldap://other.example.com:1389"),
    base_dn="dc=example,dc=com",
    kind="rfc2307",
    bind_dn="cn=nodes,dc=example,dc=com",
    bind_secret_arn="arn:aws:secretsmanager:eu-west-1:123456789012:secret:ldap-AbCdEf",
    ca_certificate=None,
    allowed_groups=("hpc users", "guests"),
    installable=True,
)
ACCESS = Access(
    groups=(Group("bob", 20002), Group("lab", 30001), Group("vision", 30002)),
    users=(ALICE, BOB),
    home_directory="/fsx/home",
    homes_shared=True,
    directory=None,
)
PASSWD = """\
root:x:0:0:root:/root:/bin/bash
alice:x:20001:30001:Alice Example:/fsx/home/alice:/bin/bash
bob:x:20002:20002::/fsx/home/bob:/bin/bash
"""
SHADOW = "root:*:19000:0:99999:7:::\nalice:!:20000:0:99999:7:::\nbob:!:20000:0:99999:7:::\n"
GROUP = "root:x:0:\nlab:x:30001:\nvision:x:30002:alice\nbob:x:20002:\n"

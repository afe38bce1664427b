"""What may be a secret is recognised, and left out of what is shown."""

from __future__ import annotations

import pytest

from slurmpod.reading.secrets_in_text import may_be_secret, without_secrets

ARN = "arn:aws:secretsmanager:us-west-2:123456789012:secret:db-AbCdEf"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("slurm", "accounting_database", "secret_arn"), "hunter2"),
        (("storage", "lustre", "kms_key_arn"), "hunter2"),
        (("identity", "policy_arns", 0), "hunter2"),
        (("slurm", "rds", "master_password"), "hunter2"),
        (("tags", "deployed-with"), f"ghp_{'0a' * 18}"),
        (("access", "directory", "uris", 0), "ldaps://cn=x:hunter2@ldap.example.com"),
    ],
)
def test_a_value_may_be_a_secret(path: tuple[str | int, ...], value: str) -> None:
    assert may_be_secret(path, value)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("slurm", "accounting_database", "secret_arn"), ARN + " "),
        (("network", "zone"), "usw2-az9"),
        (("access", "directory", "uris", 0), "http://ldap.example.com"),
        (("slurm", "rds", "password"), True),
    ],
)
def test_a_value_is_no_secret(path: tuple[str | int, ...], value: object) -> None:
    assert not may_be_secret(path, value)


def test_what_stands_in_place_of_an_arn_may_be_one() -> None:
    assert may_be_secret(("identity", "existing", "controller"), "hunter2", takes_arn=True)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("  password: hunter2", "  password: *******"),
        ('{endpoint: db, "secret_arn": "hun, ter2", port: 1}', None),
        ("db: {bind_password: 'hunter2'}  # mine", "db: {bind_password: *********}  # mine"),
        ("api_key: hunter2", "api_key: *******"),
        ("uri: ldaps://cn=x:hunter2@ldap", "uri: ldaps://*************ldap"),
        (f"secret_arn: {ARN}", f"secret_arn: {ARN}"),
        (f'secret_arn: "{ARN}"', f'secret_arn: "{ARN}"'),
        ("secret_arn:", "secret_arn:"),
        ("secrets: [", "secrets: ["),
        (f"by: ghp_{'0a' * 18}, of: me", f"by: {'*' * 40}, of: me"),
        ("by: task-2-force-of-our-research-team", "by: task-2-force-of-our-research-team"),
        ("zone: usw2-az2", "zone: usw2-az2"),
        ("multi_az: true", "multi_az: true"),
    ],
)
def test_a_line_is_shown_without_them_and_every_column_stays(line: str, shown: str | None) -> None:
    found = without_secrets(line)

    assert len(found) == len(line)
    assert "hun" not in found
    assert shown is None or found == shown

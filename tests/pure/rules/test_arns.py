"""Every field that takes an ARN is checked in one way."""

from __future__ import annotations

import pytest

from slurmpod.problems import Severity
from slurmpod.reading.read import read_as
from slurmpod.rules.check import check
from tests.sound_environment import SOUND

KEY = "arn:aws:kms:us-west-2:123456789012:key/12345678-1234-1234-1234-123456789012"
SECRET = "arn:aws:secretsmanager:us-west-2:123456789012:secret:slurmdbd-AbCdEf"

OF_KEYS = {
    "storage.lustre.kms_key_arn": "    kms_key_arn: ARN\n",
    "network.flow_logs.kms_key_arn": "network:\n  flow_logs: {kms_key_arn: ARN}\n",
    "slurm.rds.kms_key_arn": "slurm: {rds: {kms_key_arn: ARN}}\n",
    "slurm.accounting_database.secret_kms_key_arn": (
        "slurm: {accounting_database: {endpoint: db.internal, secret_arn: '"
        + SECRET
        + "', secret_kms_key_arn: ARN}}\n"
    ),
    "access.sessions.kms_key_arn": "access: {sessions: {kms_key_arn: ARN}}\n",
    "monitoring.kms_key_arn": "monitoring: {kms_key_arn: ARN}\n",
    "monitoring.prometheus.kms_key_arn": "monitoring: {prometheus: {kms_key_arn: ARN}}\n",
    "cluster.groups[1].volume_kms_key_arn": "      volume_kms_key_arn: ARN\n",
}


def with_arn(field: str, arn: str) -> str:
    """Return a sound environment with an ARN in a field."""
    addition = OF_KEYS[field].replace("ARN", f"'{arn}'")
    section, colon, rest = addition.partition("\n")
    if field.startswith("network."):
        return SOUND.replace(f"{section}\n", f"{section}{colon}{rest}")
    anchor = "    capacity_gib: 1200\n" if field.startswith("storage.") else SOUND
    return SOUND.replace(anchor, anchor + addition)


def found(text: str) -> list[tuple[str, str, Severity]]:
    problems = check(read_as("e.yaml", text))
    assert {each.rule for each in problems} & {"ENV-001", "ENV-003", "ENV-004"} == set()
    return [
        (each.rule, each.where.path, each.severity)
        for each in problems
        if each.rule.startswith("ARN")
    ]


@pytest.mark.parametrize("field", OF_KEYS)
@pytest.mark.parametrize(
    ("old", "new", "rule", "severity"),
    [
        (":aws:", ":aws-cn:", "ARN-001", Severity.ERROR),
        ("us-west-2", "us-wets-2", "ARN-002", Severity.ERROR),
        ("us-west-2", "us-east-1", "ARN-003", Severity.ERROR),
        ("123456789012:", "210987654321:", "ARN-004", Severity.WARNING),
    ],
)
def test_every_key_is_checked_alike(
    field: str, old: str, new: str, rule: str, severity: Severity
) -> None:
    assert found(with_arn(field, KEY)) == []
    assert found(with_arn(field, KEY.replace(old, new))) == [(rule, field, severity)]


def test_the_key_of_a_secret_lies_where_the_secret_does() -> None:
    field = "slurm.accounting_database.secret_kms_key_arn"
    text = with_arn(field, KEY.replace("us-west-2", "us-east-1"))
    there = text.replace(SECRET, SECRET.replace("us-west-2", "us-east-1"))
    assert [rule for rule, _, _ in found(there)] == ["ARN-005"]


@pytest.mark.parametrize(
    ("section", "key", "more"),
    [("storage", "s3_mounts", ", mount_path: /data"), ("identity", "data_buckets", "")],
)
def test_the_key_of_a_bucket_elsewhere_is_a_warning(section: str, key: str, more: str) -> None:
    text = SOUND.replace("storage:\n  lustre:\n    capacity_gib: 1200\n", "")
    arn = KEY.replace("us-west-2", "us-east-1")
    entry = f"{{bucket: our-data{more}, kms_key_arn: '{arn}'}}"
    assert [rule for rule, _, _ in found(f"{text}{section}: {{{key}: [{entry}]}}\n")] == ["ARN-005"]


def test_free_text_names_nothing() -> None:
    text = SOUND.replace("team: ml", f"team: {KEY.replace('aws', 'aws-cn')}")
    assert found(text) == []


def test_what_is_named_is_judged_beside_sections_with_mistakes() -> None:
    text = with_arn("monitoring.kms_key_arn", KEY.replace(":aws:", ":aws-cn:"))
    problems = check(read_as("e.yaml", text.replace("count: 2", "count: two")))
    assert {each.rule for each in problems} >= {"ENV-004", "ARN-001"}


def test_a_secret_that_rds_keeps_itself_can_be_named() -> None:
    name = "rds!db-0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9-AbCdEf"
    arn = SECRET.replace("slurmdbd-AbCdEf", name)
    database = f"{{endpoint: db.internal, secret_arn: '{arn}'}}"
    assert found(f"{SOUND}slurm: {{accounting_database: {database}}}\n") == []
    without = database.replace("-AbCdEf", "")
    assert [
        rule for rule, _, _ in found(f"{SOUND}slurm: {{accounting_database: {without}}}\n")
    ] == ["ARN-006"]

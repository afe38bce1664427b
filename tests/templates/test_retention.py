"""Everything that holds data outlives its stack, unless the environment asks for its end."""

from __future__ import annotations

from tests.cloud.nothing_lost_kinds import RETAINED
from tests.templates.synthesis import Synthesized

HOLDS_DATA = {
    "AWS::APS::Workspace",
    "AWS::FSx::FileSystem",
    "AWS::KMS::Key",
    "AWS::Logs::LogGroup",
    "AWS::RDS::DBInstance",
    "AWS::S3::Bucket",
    "AWS::SecretsManager::Secret",
}
NO_RECORDS = (
    "AWS679f53fac002430cb0da5b7982bd2287LogGroup",
    "BundleLog",
    "NodeCountLog",
    "PrometheusLogs",
)
"""Log groups, by the beginning of their ids, of functions that help to deploy, and of rules."""

ASKED_FOR = {
    ("extended", "ScriptsBucket"): "lifecycle.bucket_on_delete: delete",
    ("research-lab", "LustrescratchFileSystem"): "on_delete: delete",
}
"""What examples let go, by the beginning of its id."""


def test_what_holds_data_stays_and_what_was_never_used_goes(environment: Synthesized) -> None:
    name = environment.resolved.name
    asked = tuple(start for example, start in ASKED_FOR if example == name)
    for template in environment.templates.values():
        for logical_id, resource in template["Resources"].items():
            if resource["Type"] not in HOLDS_DATA or logical_id.startswith(NO_RECORDS):
                continue
            policies = {key: resource.get(key) for key in RETAINED}
            expected = (
                dict.fromkeys(RETAINED, "Delete") if logical_id.startswith(asked) else RETAINED
            )
            assert policies == expected, logical_id


def test_every_exception_is_one(environments: dict[str, Synthesized]) -> None:
    for example, start in ASKED_FOR:
        templates = environments[example].templates.values()
        assert any(id_.startswith(start) for each in templates for id_ in each["Resources"])

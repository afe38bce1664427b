"""Every kind of finding that pydantic can have with our models has a phrase of ours."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from slurmpod.model.environment import Environment
from slurmpod.model.loader import load_text
from slurmpod.model.phrases import WRONG

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurmpod.problems import YamlPath

FULL: dict[str, Any] = {
    "name": "dev",
    "account": "123456789012",
    "region": "us-west-2",
    "protected": False,
    "tags": {"team": "ml"},
    "network": {
        "zone": "us-west-2b",
        "vpc_cidr": "10.0.0.0/16",
        "private_subnet_cidr": "10.0.128.0/17",
    },
    "storage": {
        "lustre": {
            "capacity_gib": 1200,
            "throughput_mbps_per_tib": 125,
            "compression": "LZ4",
            "mount_path": "/fsx",
        }
    },
    "cluster": {
        "node_recovery": "Automatic",
        "groups": [
            {
                "name": "workers",
                "role": "worker",
                "instance_type": "ml.m5.large",
                "count": 1,
                "partition": "cpu",
                "threads_per_core": 1,
                "volume_gib": 100,
            }
        ],
    },
    "slurm": {"accounting": True},
    "lifecycle": {"step_timeout_seconds": 600},
}

ODD_VALUES: tuple[Any, ...] = (
    *(None, True, 0, -5, 10**17, 10**30, 2.5, 1e300, "", "x", "5", "Ä", "x" * 300, "a\nb"),
    *([], [None], ["x"], [{}] * 101, {}, {"": ""}, {"x" * 200: "y"}, {"x": 1}, {"x": "y" * 300}),
    *("10.0.0.1/16", "10.0.0.0/8", "10.0.0.0/30", "10.0.0.0/99", "::/0"),
    {str(number): "" for number in range(60)},
)


def paths(value: Any, path: YamlPath = ()) -> Iterator[YamlPath]:
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from paths(value[key], (*path, key))
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from paths(item, (*path, index))


def odd_documents() -> Iterator[Any]:
    yield from ODD_VALUES
    for path in paths(FULL):
        for odd in ODD_VALUES if path else ():
            document = deepcopy(FULL)
            parent: Any = document
            for part in path[:-1]:
                parent = parent[part]
            parent[path[-1]] = odd
            yield document


def test_the_full_document_has_every_key_and_no_problem() -> None:
    assert load_text("full.yaml", json.dumps(FULL)).problems == ()

    def keys(section: dict[str, Any], schema: dict[str, Any]) -> None:
        assert set(section) == set(schema["properties"])

    schema = Environment.model_json_schema()
    keys(FULL, schema)
    for name, section in (
        ("Network", FULL["network"]),
        ("Storage", FULL["storage"]),
        ("Lustre", FULL["storage"]["lustre"]),
        ("Cluster", FULL["cluster"]),
        ("Group", FULL["cluster"]["groups"][0]),
        ("Slurm", FULL["slurm"]),
        ("Lifecycle", FULL["lifecycle"]),
    ):
        keys(section, schema["$defs"][name])


def test_every_kind_of_finding_has_a_phrase_and_no_phrase_is_idle() -> None:
    kinds = set()
    for document in odd_documents():
        try:
            Environment.model_validate_json(json.dumps(document))
        except ValidationError as error:
            kinds |= {detail["type"] for detail in error.errors(include_url=False)}
    assert kinds - {"missing", "extra_forbidden"} == set(WRONG)


def test_no_word_of_pydantic_reaches_the_user() -> None:
    for document in odd_documents():
        for problem in load_text("odd.yaml", json.dumps(document)).problems:
            said = f"{problem.message} {problem.fix}"
            for word in ("Input", "should be", "Value error", "Field required", "pydantic", "^["):
                assert word not in said
            assert problem.fix
            assert "\n" not in said

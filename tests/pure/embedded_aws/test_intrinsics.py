from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from embedded_aws.cloudformation.changes import Unborn
from embedded_aws.templates.intrinsics import (
    Resolver,
    StackScope,
    check_rules,
    is_unknown,
)
from embedded_aws.templates.template import TemplateError, parse_template


@dataclass
class Thing:
    physical_id: str
    attributes: dict[str, Any] = field(default_factory=dict)


class Neighbours:
    def exported(self, name: str) -> str:
        return f"exported {name}"

    def stack_output(self, stack_name: str, region: str, output: str) -> str:
        return f"{region}/{stack_name}/{output}"

    def zones(self, region: str) -> list[str]:
        return [f"{region}a", f"{region}b"]


def scope(**sections: object) -> StackScope:
    document = {"Resources": {"Vpc": {"Type": "T"}}, **sections}
    return StackScope(
        template=parse_template(json.dumps(document)),
        pseudo_parameters={"AWS::Region": "us-west-2", "AWS::Partition": "aws"},
        parameters={"Name": "demo", "Empty": ""},
        resources={"Vpc": Thing("vpc-1", {"CidrBlock": "10.0.0.0/16"})},
        account_view=Neighbours(),
    )


SECTIONS: dict[str, object] = {
    "Mappings": {"Sizes": {"us-west-2": {"gib": 1200}}},
    "Conditions": {
        "Named": {"Fn::Not": [{"Fn::Equals": [{"Ref": "Name"}, ""]}]},
        "Nameless": {"Fn::Not": [{"Condition": "Named"}]},
        "Either": {"Fn::Or": [{"Condition": "Nameless"}, {"Condition": "Named"}]},
        "Both": {"Fn::And": [{"Condition": "Nameless"}, {"Condition": "Named"}]},
    },
}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"Ref": "Vpc"}, "vpc-1"),
        ({"Ref": "Name"}, "demo"),
        ({"Ref": "AWS::Region"}, "us-west-2"),
        ({"Fn::GetAtt": ["Vpc", "CidrBlock"]}, "10.0.0.0/16"),
        ({"Fn::GetAtt": "Vpc.CidrBlock"}, "10.0.0.0/16"),
        ({"Fn::Sub": "${Name}-${Vpc.CidrBlock}-${!Literal}"}, "demo-10.0.0.0/16-${Literal}"),
        ({"Fn::Sub": ["${a}/${Name}", {"a": {"Ref": "Vpc"}}]}, "vpc-1/demo"),
        ({"Fn::Join": ["-", ["a", {"Ref": "Name"}, True]]}, "a-demo-true"),
        ({"Fn::Select": [1, {"Fn::Split": [".", "a.b.c"]}]}, "b"),
        ({"Fn::If": ["Named", {"Ref": "Name"}, "x"]}, "demo"),
        ({"Fn::If": ["Both", "x", {"Fn::If": ["Either", "y", "z"]}]}, "y"),
        ({"Fn::FindInMap": ["Sizes", {"Ref": "AWS::Region"}, "gib"]}, 1200),
        ({"Fn::GetAZs": ""}, ["us-west-2a", "us-west-2b"]),
        ({"Fn::ImportValue": {"Fn::Sub": "${Name}:x"}}, "exported demo:x"),
        ({"Fn::GetStackOutput": {"StackName": "N", "OutputName": "O"}}, "us-west-2/N/O"),
        (
            {"Fn::GetStackOutput": {"StackName": "N", "Region": "eu-west-1", "OutputName": "O"}},
            "eu-west-1/N/O",
        ),
        ({"Fn::Cidr": ["10.0.0.0/16", 2, 8]}, ["10.0.0.0/24", "10.0.1.0/24"]),
        ({"Fn::Cidr": ["fd00::/56", "1", "64"]}, ["fd00::/64"]),
        ({"Fn::FindInMap": ["Sizes", "x", "gib", {"DefaultValue": {"Ref": "Name"}}]}, "demo"),
        ({"Fn::Length": [1, {"Ref": "AWS::NoValue"}, 2]}, 2),
        ({"Fn::Base64": {"Ref": "Name"}}, "ZGVtbw=="),
        ({"Fn::ToJsonString": {"a": {"Ref": "Name"}}}, '{"a":"demo"}'),
    ],
)
def test_resolves(value: object, expected: object) -> None:
    assert Resolver(scope(**SECTIONS)).resolve(value) == expected


@pytest.mark.parametrize(
    "function",
    [
        {"Fn::Cidr": [{"Fn::GetAtt": "New.Block"}, 2, 8]},
        {"Fn::Select": [3, {"Fn::Split": ["/", {"Fn::GetAtt": "New.Block"}]}]},
        {"Fn::Select": [1, {"Fn::Cidr": [{"Fn::Sub": "${New.Block}"}, 2, 8]}]},
        {"Fn::FindInMap": ["Sizes", {"Ref": "New"}, "gib"]},
        {"Fn::Length": {"Fn::Split": [",", {"Ref": "New"}]}},
        {"Fn::ImportValue": {"Fn::Join": ["-", [{"Ref": "New"}, "x"]]}},
    ],
)
def test_nothing_is_known_of_what_does_not_exist_yet(function: object) -> None:
    seen = scope(**SECTIONS)
    seen.resources = {"New": Unborn("New")}

    assert is_unknown(Resolver(seen).resolve(function))


def test_no_value_takes_keys_and_items_away() -> None:
    nothing = {"Ref": "AWS::NoValue"}
    value = {"a": nothing, "b": [1, nothing, {"Fn::If": ["Named", nothing, 2]}]}

    assert Resolver(scope(**SECTIONS)).resolve(value) == {"b": [1]}


def test_policy_conditions_are_ordinary_data() -> None:
    statement = {"Condition": {"Bool": {"aws:SecureTransport": "false"}}}

    assert Resolver(scope()).resolve(statement) == statement


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"Fn::Transform": {}}, "Fn::Transform is not supported by the embedded AWS"),
        ({"Ref": "Nothing"}, r"Unresolved resource dependencies \[Nothing\]"),
        ({"Fn::GetAtt": ["Vpc", "Nope"]}, "does not support attribute type Nope"),
        ({"Fn::Select": [5, ["a"]]}, "Fn::Select cannot be applied"),
        ({"Fn::Cidr": ["10.0.0.0/30", 5, 0]}, "has room for 4 blocks"),
        ({"Fn::Length": "abc"}, "it is not a list"),
        ({"Fn::FindInMap": ["Sizes", "eu-west-1", "gib"]}, "Sizes::eu-west-1::gib"),
        ({"Fn::If": ["Unknown", 1, 2]}, "Unresolved condition Unknown"),
    ],
)
def test_names_what_cannot_be_resolved(value: object, message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        Resolver(scope(**SECTIONS)).resolve(value)


def test_rules_refuse_an_outdated_bootstrap() -> None:
    outdated = {"Fn::Not": [{"Fn::Contains": [["1", "2"], {"Ref": "Name"}]}]}
    rules = {"Check": {"Assertions": [{"Assert": outdated, "AssertDescription": "too old"}]}}
    seen = scope(Rules=rules)
    seen.parameters = {"Name": "2"}

    with pytest.raises(TemplateError, match="Check: too old"):
        check_rules(seen.template, seen)
    seen.parameters = {"Name": "6"}
    check_rules(seen.template, seen)

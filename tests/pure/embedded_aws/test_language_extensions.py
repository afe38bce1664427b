"""Loops of templates become what they stand for."""

from __future__ import annotations

import json

import pytest

from embedded_aws.templates.language_extensions import processed_template
from embedded_aws.templates.template import Template, TemplateError

TRANSFORM = "AWS::LanguageExtensions"
TOPIC = {"Type": "T", "Properties": {"Name": {"Fn::Sub": "${AWS::StackName}-${Which}"}}}


def processed(document: dict[str, object], **parameters: str) -> Template:
    pseudo_parameters = {"AWS::Region": "us-west-2"}
    return processed_template(json.dumps(document), parameters, pseudo_parameters)


def test_a_loop_makes_resources_and_outputs_of_each_item() -> None:
    template = processed(
        {
            "Transform": [TRANSFORM],
            "Resources": {"Fn::ForEach::Topics": ["Which", ["a.b", "c"], {"Topic&{Which}": TOPIC}]},
            "Outputs": {
                "Fn::ForEach::Names": [
                    "Which",
                    ["c"],
                    {"Name${Which}": {"Value": {"Fn::GetAtt": ["Topic${Which}", "Arn"]}}},
                ]
            },
        }
    )

    assert list(template.resources) == ["Topicab", "Topicc"]
    assert template.resources["Topicab"].properties == {
        "Name": {"Fn::Sub": "${AWS::StackName}-a.b"}
    }
    assert template.section("Outputs") == {"Namec": {"Value": {"Fn::GetAtt": ["Topicc", "Arn"]}}}


def test_collections_come_from_parameters_and_mappings() -> None:
    document: dict[str, object] = {
        "Transform": TRANSFORM,
        "Parameters": {"Zones": {"Type": "CommaDelimitedList", "Default": "a"}},
        "Mappings": {"Regions": {"us-west-2": {"zones": ["x", "y"]}}},
        "Resources": {
            "Fn::ForEach::Given": ["Z", {"Ref": "Zones"}, {"G${Z}": {"Type": "T"}}],
            "Fn::ForEach::Mapped": [
                "Z",
                {"Fn::FindInMap": ["Regions", {"Ref": "AWS::Region"}, "zones"]},
                {"M${Z}": {"Type": "T", "Properties": {"Zone": {"Ref": "Z"}}}},
            ],
        },
    }

    template = processed(document, Zones="b, c")

    assert list(template.resources) == ["Gb", "Gc", "Mx", "My"]
    assert template.resources["My"].properties == {"Zone": "y"}
    assert list(processed(document).resources)[:1] == ["Ga"]


def test_loops_stand_in_loops_and_in_properties() -> None:
    inner = {"Fn::ForEach::Columns": ["C", ["1", "2"], {"R${R}C${C}": {"Type": "T"}}]}
    tags = {"Fn::ForEach::Keys": ["K", ["k", "l"], {"${K}": "v"}]}
    document: dict[str, object] = {
        "Transform": TRANSFORM,
        "Resources": {
            "Fn::ForEach::Rows": ["R", ["x"], inner],
            "A": {"Type": "T", "Properties": {"Tags": tags}},
        },
    }

    template = processed(document)

    assert list(template.resources) == ["RxC1", "RxC2", "A"]
    assert template.resources["A"].properties == {"Tags": {"k": "v", "l": "v"}}


def test_the_functions_need_their_transform() -> None:
    length = {"Type": "T", "Properties": {"Count": {"Fn::Length": ["a"]}}}

    with pytest.raises(TemplateError, match=r"unsupported function: Fn::Length .*Transform"):
        processed({"Resources": {"A": length}})
    assert processed({"Transform": TRANSFORM, "Resources": {"A": length}}).resources


def test_a_loop_over_no_list_is_refused() -> None:
    loop = ["X", "abc", {"${X}": {"Type": "T"}}]

    with pytest.raises(TemplateError, match=r"Fn::ForEach::Loop needs .*'abc' is not a list"):
        processed({"Transform": TRANSFORM, "Resources": {"Fn::ForEach::Loop": loop}})

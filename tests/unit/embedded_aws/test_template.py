import json

import pytest

from embedded_aws.cloudformation.intrinsics import resolve_parameters
from embedded_aws.cloudformation.template import (
    Template,
    TemplateError,
    creation_order,
    parse_template,
)


def parsed(**resources: object) -> Template:
    return parse_template(json.dumps({"Resources": resources}))


def test_reads_yaml_without_turning_policy_versions_into_dates() -> None:
    template = parse_template("Resources: {A: {Type: T, Properties: {Version: 2012-10-17}}}")

    assert template.resources["A"].properties == {"Version": "2012-10-17"}


def test_keeps_the_text_as_submitted() -> None:
    body = '{"Resources":  {"A": {"Type": "T"}}}'

    assert parse_template(body).body == body


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"Resources": {}}, "At least one Resources member"),
        ({"Resources": {"A": {}}}, "resource A has no Type"),
        ({"Resources": {"A": {"Type": "T"}}, "Transform": "X"}, "section Transform"),
        ({"Resources": {"A": {"Type": "T", "CreationPolicy": {}}}}, "CreationPolicy of resource A"),
        ({"Resources": {"A": {"Type": "T", "DeletionPolicy": "Archive"}}}, "Archive"),
        ({"Resources": {"A": {"Type": "T", "DependsOn": "B"}}}, r"\[B\]"),
    ],
)
def test_refuses_what_it_could_only_ignore(document: object, message: str) -> None:
    with pytest.raises(TemplateError, match=message):
        parse_template(json.dumps(document))


def test_creates_what_others_refer_to_first() -> None:
    template = parsed(
        Route={"Type": "T", "Properties": {"Table": {"Ref": "Table"}}, "DependsOn": "Gateway"},
        Table={"Type": "T", "Properties": {"Vpc": {"Fn::GetAtt": ["Vpc", "Id"]}}},
        Gateway={"Type": "T", "Properties": {"Name": {"Fn::Sub": "igw-${Vpc.Id}-${AWS::Region}"}}},
        Vpc={"Type": "T"},
    )

    assert creation_order(template.resources) == ["Vpc", "Gateway", "Table", "Route"]


def test_names_the_members_of_a_circle() -> None:
    template = parsed(
        A={"Type": "T", "DependsOn": ["B"]},
        B={"Type": "T", "Properties": {"X": [{"Ref": "A"}]}},
    )

    with pytest.raises(TemplateError, match=r"Circular dependency between resources: \[A, B\]"):
        creation_order(template.resources)


PARAMETERS = {
    "Plain": {"Type": "String", "Default": "d"},
    "Zones": {"Type": "CommaDelimitedList", "Default": "a,b"},
    "Size": {"Type": "String", "Default": "small", "AllowedValues": ["small", "large"]},
    "Version": {"Type": "AWS::SSM::Parameter::Value<String>", "Default": "/v"},
}


def resolved(**given: str) -> dict[str, object]:
    body = json.dumps({"Resources": {"A": {"Type": "T"}}, "Parameters": PARAMETERS})
    return resolve_parameters(parse_template(body), given, {"/v": "21"}.__getitem__)


def test_parameters_take_given_values_before_defaults() -> None:
    assert resolved(Plain="g") == {
        "Plain": "g",
        "Zones": ["a", "b"],
        "Size": "small",
        "Version": "21",
    }


def test_refuses_unknown_and_disallowed_parameters() -> None:
    with pytest.raises(TemplateError, match=r"\[Other\] do not exist"):
        resolved(Other="x")
    with pytest.raises(TemplateError, match="allowed: small, large"):
        resolved(Size="huge")


def test_refuses_a_parameter_without_value() -> None:
    body = json.dumps(
        {"Resources": {"A": {"Type": "T"}}, "Parameters": {"Must": {"Type": "String"}}}
    )

    with pytest.raises(TemplateError, match=r"\[Must\] must have values"):
        resolve_parameters(parse_template(body), {}, str)

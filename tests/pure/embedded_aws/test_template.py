import json

import pytest

from embedded_aws.templates.parameters import resolve_parameters
from embedded_aws.templates.template import (
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


SHORT = """
Resources:
  A:
    Type: T
    Condition: Wanted
    Properties:
      Name: !Sub ["${X}-a", {X: !Select [0, !Split ["-", !Ref AWS::StackId]]}]
      Value: !GetAtt Nested.Outputs.Id
      Blocks: !If [Wanted, !Cidr [!GetAtt [Vpc, CidrBlock], 2, 8], !Ref AWS::NoValue]
  Nested: {Type: T}
  Vpc: {Type: T}
Parameters: {P: {Type: String}}
Conditions:
  Wanted: !And [!Condition Other, !Not [!Equals [!Ref P, ""]]]
Mappings: {Accounts: {111122223333: {on: 1}}}
"""


def test_reads_short_function_names_and_keys_that_are_no_texts() -> None:
    template = parse_template(SHORT)

    assert template.resources["A"].properties == {
        "Name": {
            "Fn::Sub": [
                "${X}-a",
                {"X": {"Fn::Select": [0, {"Fn::Split": ["-", {"Ref": "AWS::StackId"}]}]}},
            ]
        },
        "Value": {"Fn::GetAtt": "Nested.Outputs.Id"},
        "Blocks": {
            "Fn::If": [
                "Wanted",
                {"Fn::Cidr": [{"Fn::GetAtt": ["Vpc", "CidrBlock"]}, 2, 8]},
                {"Ref": "AWS::NoValue"},
            ]
        },
    }
    assert template.section("Conditions")["Wanted"] == {
        "Fn::And": [
            {"Condition": "Other"},
            {"Fn::Not": [{"Fn::Equals": [{"Ref": "P"}, ""]}]},
        ]
    }
    assert template.section("Mappings") == {"Accounts": {"111122223333": {"true": 1}}}


def test_says_where_a_text_is_no_yaml() -> None:
    with pytest.raises(TemplateError, match=r"Template format error:(?s:.)*line 1, column"):
        parse_template("Resources: {A: {Type: T")


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
        (
            {"Resources": {"A": {"Type": "T", "Properties": {"X": {"Fn::Sub": "${B}${C.Arn}"}}}}},
            r"\[B, C\] in the Resources block",
        ),
        (
            {"Resources": {"A": {"Type": "T"}}, "Outputs": {"O": {"Value": {"Ref": "B"}}}},
            r"\[B\] in the Outputs block",
        ),
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


@pytest.mark.parametrize(
    ("declaration", "text", "value"),
    [
        ({"Type": "Number", "MinValue": 1}, "1200", "1200"),
        ({"Type": "String", "AllowedValues": [True, False]}, "true", "true"),
        ({"Type": "List<Number>", "MaxValue": "9"}, "1, 2,3", ["1", "2", "3"]),
        ({"Type": "CommaDelimitedList"}, "a , b", ["a", "b"]),
        ({"Type": "List<AWS::EC2::Subnet::Id>"}, "subnet-1,subnet-2", ["subnet-1", "subnet-2"]),
        ({"Type": "AWS::EC2::VPC::Id"}, "vpc-1", "vpc-1"),
        ({"Type": "AWS::SSM::Parameter::Name"}, "/l", "/l"),
        ({"Type": "AWS::SSM::Parameter::Value<AWS::EC2::Image::Id>"}, "/i", "ami-1"),
        ({"Type": "AWS::SSM::Parameter::Value<List<String>>"}, "/l", ["x", "y"]),
        ({"Type": "AWS::SSM::Parameter::Value<CommaDelimitedList>"}, "/l", ["x", "y"]),
    ],
)
def test_parameters_of_each_type(declaration: object, text: str, value: object) -> None:
    body = json.dumps({"Resources": {"A": {"Type": "T"}}, "Parameters": {"P": declaration}})
    store = {"/l": "x,y", "/i": "ami-1"}

    assert resolve_parameters(parse_template(body), {"P": text}, store.__getitem__) == {"P": value}


@pytest.mark.parametrize(
    ("declaration", "text", "problem"),
    [
        ({"Type": "Number"}, "many", "'many'; it must be a number"),
        ({"Type": "List<Number>"}, "1,b", "'b'; it must be a number"),
        ({"Type": "Number", "MaxValue": 5}, "6", "its value must be at most 5"),
        ({"Type": "String", "MinLength": 3}, "ab", "its length must be at least 3"),
        ({"Type": "String", "AllowedPattern": "[a-z]*"}, "A", r"must match pattern \[a-z\]"),
        (
            {"Type": "String", "AllowedPattern": "[a-z]*", "ConstraintDescription": "be small."},
            "A",
            "Parameter P is 'A'; be small.",
        ),
        ({"Type": "Boolean"}, "true", "Unrecognized parameter type: Boolean"),
    ],
)
def test_refuses_what_a_parameter_does_not_allow(
    declaration: object, text: str, problem: str
) -> None:
    body = json.dumps({"Resources": {"A": {"Type": "T"}}, "Parameters": {"P": declaration}})

    with pytest.raises(TemplateError, match=problem):
        resolve_parameters(parse_template(body), {"P": text}, str)

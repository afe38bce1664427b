"""What a template is refused for before anything is made of it, as people write it."""

from __future__ import annotations

import pytest

from embedded_aws.templates.language_extensions import processed_template
from embedded_aws.templates.template import TemplateError

A = "Resources: {A: {Type: T}}"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("Resources: [{Type: T}]", r"\[/Resources\] an object is expected"),
        ("Resources: {A: T}", r"\[/Resources/A\] an object is expected"),
        ("Resources: {A: {Type: T, Properties: [1]}}", r"\[/Resources/A/Properties\] an object"),
        ("Resources: {A: {Type: T, DependsOn: [{Ref: B}]}}", "DependsOn value must be a string"),
        (
            "Resources: {A: {Type: T, Condition: !Equals [a, a]}}",
            "Every Condition member must be a string",
        ),
        (f"{A}\nMappings: [1]", r"\[/Mappings\] an object is expected"),
        (f"{A}\nMetadata: text", r"\[/Metadata\] an object is expected"),
        (f"{A}\nParameters: {{P: String}}", r"\[/Parameters/P\] an object is expected"),
        (f"{A}\nOutputs: {{O: x}}", r"\[/Outputs/O\] an object is expected"),
        (f"{A}\nOutputs: {{O: {{Description: x}}}}", "must contain a Value object"),
        (f"{A}\nOutputs: {{O: {{Value: x, Export: x}}}}", "The Name field of every Export"),
        (
            f"{A}\nOutputs: {{O: {{Value: x, Condition: [C]}}}}",
            "Every Condition member must be a string",
        ),
        (f"{A}\nRules: {{R: {{}}}}", "Every Rules member must have Assertions"),
        (f"{A}\nRules: {{R: {{Assertions: [{{}}]}}}}", "Every Rules member must have Assertions"),
        (f"{A}\nConditions: {{C: {{Condition: [C]}}}}", "Every Condition member must be a string"),
    ],
)
def test_sections_and_entries_have_their_shape(body: str, message: str) -> None:
    with pytest.raises(TemplateError, match=f"Template format error: .*{message}"):
        processed_template(body, {}, {})


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (f"{A}\nParameters:", "/Parameters"),
        ("Resources: {A: {Type: T, Properties: {Description: }}}", "/Resources/A/Properties/Des"),
        ("Resources: {A: {Type: T, Properties: {L: [a, ~]}}}", r"/Resources/A/Properties/L/1\]"),
        (f"{A}\nTransform: AWS::LanguageExtensions\nParameters: {{P: }}", "/Parameters/P"),
    ],
)
def test_null_is_nowhere(body: str, path: str) -> None:
    with pytest.raises(TemplateError, match=rf"\[{path}.*'null' values are not allowed"):
        processed_template(body, {}, {})


@pytest.mark.parametrize("wrong", ['{"Fn::GetAtt": {}}', "!GetAtt A", '{"Fn::GetAtt": [A]}'])
def test_an_attribute_has_a_resource_and_a_name(wrong: str) -> None:
    for body in (
        f"Resources: {{A: {{Type: T}}, B: {{Type: T, Properties: {{X: {wrong}}}}}}}",
        f"{A}\nOutputs: {{O: {{Value: {wrong}}}}}",
    ):
        with pytest.raises(TemplateError, match="every Fn::GetAtt object requires two non-empty"):
            processed_template(body, {}, {})


@pytest.mark.parametrize("wrong", ["5", "[5, {}]", "[x]", "[x, y]", "{a: b}"])
def test_a_substitution_has_a_text(wrong: str) -> None:
    body = f'Resources: {{A: {{Type: T, Properties: {{X: {{"Fn::Sub": {wrong}}}}}}}}}'
    with pytest.raises(TemplateError, match="Fn::Sub intrinsic functions don't specify expected"):
        processed_template(body, {}, {})


@pytest.mark.parametrize(
    ("conditions", "circle"),
    [
        ("{C: !Condition C}", "C"),
        ("{C: !Not [!Condition D], D: !And [!Equals [a, a], !Condition C]}", "C, D"),
    ],
)
def test_conditions_do_not_go_in_circles(conditions: str, circle: str) -> None:
    with pytest.raises(TemplateError, match=rf"between conditions: \[{circle}\]"):
        processed_template(f"{A}\nConditions: {conditions}", {}, {})


def test_loops_are_no_misshapen_entries() -> None:
    body = """
Transform: AWS::LanguageExtensions
Resources:
  Fn::ForEach::All: [Name, [A, B], {"${Name}": {Type: T}}]
Outputs:
  Fn::ForEach::All: [Name, [A, B], {"O${Name}": {Value: !Ref "${Name}"}}]
"""
    assert processed_template(body, {}, {}).resources.keys() == {"A", "B"}
    with pytest.raises(TemplateError, match=r"\[/Outputs/OA\] an object is expected"):
        processed_template(body.replace('{Value: !Ref "${Name}"}', "x"), {}, {})

"""Malformed requests: unreadable bodies, wrong types, missing members. Pure.

Codes and messages are those in public reports of AWS responses: SerializationException for JSON
that does not fit (aws-sdk-js-v3, issues 7102 and 7215; aws-sdk-js, issue 44), MalformedInput for
forms (amazonka, issue 12), and each service's own code for missing members. Members that are not in
the model are ignored, as services do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from botocore.model import OperationModel

from embedded_aws import service_model
from embedded_aws.errors import sentence, summary

Shape = Any
"""A shape in botocore's models; its members depend on its type."""

_UNREADABLE = {
    "json": "SerializationException",
    "rest-json": "SerializationException",
    "rest-xml": "MalformedXML",
}
_MISSING = {
    "ec2": "MissingParameter",
    "ecr": "InvalidParameterException",
    "lambda": "InvalidParameterValueException",
    "logs": "InvalidParameterException",
    "rds": "MissingParameter",
    "sqs": "MissingRequiredParameterException",
}
"""By botocore's service name; all others use the code of their protocol."""
_NAMED_AS_PARAMETERS = frozenset({"ec2", "rds", "sqs"})
_JSON = frozenset({"json", "rest-json"})
_TYPES: Mapping[str, tuple[type, ...]] = {
    "boolean": (bool,),
    "double": (int, float, str),
    "float": (int, float, str),
    "integer": (int, float),
    "list": (list,),
    "long": (int, float),
    "map": (dict,),
    "string": (str,),
    "structure": (dict,),
}
"""The JSON type of each model type; blobs and timestamps are left to the parsers."""


@dataclass(frozen=True)
class Malformed:
    """Why a request is refused before anything is looked up: a code and a message."""

    code: str
    message: str


def unreadable(service: str, protocol: str, message: str = "") -> Malformed:
    """Return the flaw of a request that its protocol cannot parse."""
    if service == "ec2":
        return Malformed("InvalidParameterValue", message or "A value of a parameter is invalid.")
    code = _UNREADABLE.get(protocol, "MalformedInput")
    return Malformed(code, message or "The request could not be read.")


def unknown_operation(protocol: str, name: str) -> Malformed | None:
    """Return the flaw of a request for an operation that its service does not have.

    None for services whose operations are identified by paths: tools use more of these than the
    models contain.
    """
    if protocol == "json":
        return Malformed("UnknownOperationException", f"{name or 'Nothing'} is not an operation.")
    if protocol in ("ec2", "query"):
        return Malformed("InvalidAction", f"The action {name} is not valid for this web service.")
    return None


def wrong_types(operation: OperationModel, protocol: str, body: bytes) -> Malformed | None:
    """Return the flaw of a body that is not JSON or has a value of a wrong type."""
    shape = _in_json(operation) if protocol in _JSON and body else None
    if shape is None:
        return None
    service = operation.service_model.service_name
    try:
        value = json.loads(body)
    except ValueError:
        return unreadable(service, protocol, "Unexpected character or end of the request's JSON")
    message = next(_mismatches(shape, value), None)
    return unreadable(service, protocol, message) if message else None


def _in_json(operation: OperationModel) -> Shape | None:
    """Return the shape of the body, or None if it may contain anything."""
    shape = operation.input_shape
    if shape is None or "payload" not in shape.serialization:
        return shape
    payload = shape.members[shape.serialization["payload"]]
    return payload if payload.type_name == "structure" else None


def _mismatches(shape: Shape, value: Any) -> Iterator[str]:
    """Yield the values that cannot be converted; a nested null counts as missing."""
    expected = _TYPES.get(shape.type_name)
    is_boolean = isinstance(value, bool)
    if expected and (not isinstance(value, expected) or (is_boolean and bool not in expected)):
        yield _mismatch(shape.type_name, value)
    elif shape.type_name == "structure" and not shape.is_document_type:
        for name, member in shape.members.items():
            given = value.get(member.serialization.get("name", name))
            if given is not None and "location" not in member.serialization:
                yield from _mismatches(member, given)
    elif shape.type_name == "list":
        for item in filter(_is_there, value):
            yield from _mismatches(shape.member, item)
    elif shape.type_name == "map":
        for item in filter(_is_there, value.values()):
            yield from _mismatches(shape.value, item)


def _is_there(value: Any) -> bool:
    return value is not None


def _mismatch(expected: str, value: Any) -> str:
    if expected == "list":
        return "Expected list or null"
    if isinstance(value, dict):
        return "Start of structure or map found where not expected."
    if isinstance(value, list):
        return "Start of list found where not expected"
    if expected in ("structure", "map"):
        return "Expected null"
    token = {bool: "BOOLEAN_VALUE", str: "STRING_VALUE"}.get(type(value), "NUMBER_VALUE")
    return f"{token} can not be converted to {expected.capitalize()}"


def missing(operation: OperationModel, protocol: str, given: Mapping[str, Any]) -> Malformed | None:
    """Return the flaw of an input that lacks members, with the service's message."""
    shape, service = operation.input_shape, operation.service_model.service_name
    if shape is None or protocol == "rest-xml":
        return None
    absent = list(_absent(shape, given, ()))
    if not absent:
        return None
    ours = "ValidationException" if protocol in _JSON else "ValidationError"
    code = _MISSING.get(service, ours)
    if service in _NAMED_AS_PARAMETERS:
        name = ".".join(map(str, absent[0].path))
        return Malformed(code, f"The request must contain the parameter {name}")
    return Malformed(code, summary([sentence(violation) for violation in absent]))


def _absent(
    shape: Shape, given: Any, path: tuple[str | int, ...]
) -> Iterator[service_model.Violation]:
    if shape.type_name == "structure" and isinstance(given, Mapping):
        for name in shape.required_members:
            if given.get(name) is None:
                yield service_model.missing((*path, name), name)
        for name, value in given.items():
            if name in shape.members:
                yield from _absent(shape.members[name], value, (*path, name))
    elif shape.type_name == "list" and isinstance(given, list):
        for index, item in enumerate(given):
            yield from _absent(shape.member, item, (*path, index))

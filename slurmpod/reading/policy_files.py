"""Copies of IAM policies that an environment names -> their documents, or problems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from slurmpod.environment.environment import Environment
from slurmpod.problems import Problem, Severity, Where, YamlPath
from slurmpod.reading.text_file import Unreadable, read_text
from slurmpod.reading.yaml_source import YamlSource, read_yaml
from slurmpod.value import Value

Places = dict[str, tuple[YamlPath, int]]
"""Policy files by path: the field that names each, and the size limit."""

RULE = "IDN-001"

MANAGED_POLICY_CHARACTERS = 6_144
INLINE_POLICY_CHARACTERS = 10_240
"""IAM user guide, quotas: characters of a managed policy, and of all inline policies of a role;
white space does not count."""

PolicyDocument = dict[str, Any]
"""An IAM policy as JSON has it: Version and Statement."""

FIX = "name a copy of the policy as IAM shows it: JSON with Version and Statement"


class PoliciesReading(Value):
    """The documents by path, and the problems of their form."""

    documents: Mapping[str, PolicyDocument]
    problems: tuple[Problem, ...]


class _NoJson(Exception):
    """Raised for a text that is not JSON, with position and reason."""

    def __init__(self, reason: str, line: int = 1, column: int = 1) -> None:
        self.reason = reason
        self.line = line
        self.column = column
        super().__init__(reason)


def read_policy_files(environment: Environment, source: YamlSource) -> PoliciesReading:
    """Read the files that the environment names, relative to the file that names them."""
    documents: dict[str, PolicyDocument] = {}
    problems: list[Problem] = []
    for written, (path, limit) in _named(environment).items():
        where = source.where(path)
        file = Path(where.file).parent / written
        try:
            text = read_text(file)
        except Unreadable as reason:
            problems.append(_problem(where, f"{file}: {reason.message}"))
            continue
        document, found = read_policy(str(file), text, limit)
        problems += found
        if not found:
            documents[written] = document
    return PoliciesReading(documents, tuple(problems))


def read_policy(file: str, text: str, limit: int) -> tuple[PolicyDocument, tuple[Problem, ...]]:
    """Read the text of a policy; `file` is the name for problems."""
    try:
        document = _parsed(text)
    except _NoJson as error:
        where = Where(file, error.line, error.column)
        return {}, (_problem(where, f"this is not JSON: {error.reason}"),)
    return document, tuple(_problems(file, text, document, limit))


def _named(environment: Environment) -> Places:
    """Return every file once; a policy of a role may be a managed or an inline one."""
    identity = environment.identity
    found: Places = {}
    place: YamlPath
    for number, written in enumerate(identity.existing.policy_files if identity.existing else ()):
        place = ("identity", "existing", "policy_files", number)
        found.setdefault(written, (place, INLINE_POLICY_CHARACTERS))
    boundary = identity.permissions_boundary
    if boundary and boundary.policy_file:
        place = ("identity", "permissions_boundary", "policy_file")
        found[boundary.policy_file] = (place, MANAGED_POLICY_CHARACTERS)
    return found


def _parsed(text: str) -> Any:
    """Parse JSON; raises _NoJson."""
    import json  # only needed if there are such files

    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise _NoJson(error.msg, error.lineno, error.colno) from error
    except RecursionError as error:
        raise _NoJson("it is nested too deeply") from error
    except ValueError as error:  # a constant, or a number of thousands of digits
        raise _NoJson(str(error)) from error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"JSON knows no {name}")


def _problems(file: str, text: str, document: Any, limit: int) -> Iterator[Problem]:
    """Yield the reasons why a document is not a policy.

    JSON is YAML except for tabs between values, so parsing it as YAML gives positions and duplicate
    keys.
    """
    import json  # only needed if there are such files

    from embedded_aws.iam import faults

    places = read_yaml(file, text.replace("\t", " "))
    for found in places.problems:
        yield Problem(RULE, Severity.ERROR, found.where, found.message, found.fix)
    for place, fault in (*faults(document), *_principals(document)):
        yield _problem(places.where(place), fault)
    size = len(json.dumps(document, separators=(",", ":"), ensure_ascii=False))
    if size > limit:
        message = f"the policy has {size} characters, and IAM takes no more than {limit} of it"
        yield _problem(Where(file), message)


def _principals(document: Any) -> Iterator[tuple[YamlPath, str]]:
    """Yield principals, which only resource policies have."""
    from embedded_aws.iam.policy import as_list  # only needed if there are such files

    statements = document.get("Statement", []) if isinstance(document, dict) else []
    for number, statement in enumerate(as_list(statements)):
        for key in ("Principal", "NotPrincipal"):
            if isinstance(statement, dict) and key in statement:
                yield ("Statement", number, key), "a role's policy has no principal"


def _problem(where: Where, message: str) -> Problem:
    return Problem(RULE, Severity.ERROR, where, message, FIX)

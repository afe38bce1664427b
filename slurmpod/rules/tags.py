"""Rules for tags, which some services refuse late."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.problems import Severity
from slurmpod.reading.secrets_in_text import TOKEN
from slurmpod.resolve import Resolved
from slurmpod.rules.registry import Area, Finding

TAGS = Area("TAG", "Tags", reads=("tags",))

TAGGING = "https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html"
OTHER_CHARACTERS = " _.:/=+-@"
"""What a tag may hold beside letters and digits in every service."""


@TAGS.rule(
    "TAG-001",
    "No tag begins with aws:",
    why="The prefix is AWS's own, in every spelling; a resource with such a tag is refused.",
    fix="give the tag another name",
    source=TAGGING,
)
def _prefix_of_aws(resolved: Resolved) -> Iterator[Finding]:
    for key in resolved.environment.tags:
        if key.lower().startswith("aws:"):
            yield Finding(("tags", key), f"the tag '{key}' has the prefix of AWS", at_key=True)


@TAGS.rule(
    "TAG-002",
    "No tag begins with slurmpod:",
    why="slurmpod marks its resources with these tags and finds them again by them.",
    fix="give the tag another name",
    source="slurmpod/resolve/environment.py",
)
def _prefix_of_slurmpod(resolved: Resolved) -> Iterator[Finding]:
    for key in resolved.environment.tags:
        if key.lower().startswith("slurmpod:"):
            yield Finding(("tags", key), f"the tag '{key}' has slurmpod's own prefix", at_key=True)


@TAGS.rule(
    "TAG-003",
    "Tags hold letters, digits, spaces and _ . : / = + - @ only",
    why="Other characters are refused by some of the services that the tags are for.",
    fix="leave these characters out",
    source=TAGGING,
)
def _characters(resolved: Resolved) -> Iterator[Finding]:
    for key, value in resolved.environment.tags.items():
        for text, is_key in ((key, True), (value, False)):
            refused = "".join(dict.fromkeys(filter(_is_refused, text)))
            if refused:
                what = "name" if is_key else "value"
                message = f"the tag's {what} has characters that AWS refuses: {refused!a}"
                yield Finding(("tags", key), message, at_key=is_key)


@TAGS.rule(
    "TAG-004",
    "Tags differ in more than upper and lower case",
    why="IAM treats the names of tags without regard to case and refuses a role with both.",
    fix="keep one of the two",
    source="https://docs.aws.amazon.com/IAM/latest/UserGuide/id_tags.html",
)
def _case(resolved: Resolved) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for key in resolved.environment.tags:
        other = first.setdefault(key.lower(), key)
        if other != key:
            message = f"the tags '{other}' and '{key}' are one to IAM"
            yield Finding(("tags", key), message, at_key=True)


@TAGS.rule(
    "TAG-005",
    "Tags hold no token",
    why="Everyone who may list resources or read bills sees tags, and AWS writes them to logs.",
    fix="revoke the token: others may have read it by now; keep the new one in Secrets Manager",
    source=TAGGING,
    severity=Severity.WARNING,
)
def _tokens(resolved: Resolved) -> Iterator[Finding]:
    for key, value in resolved.environment.tags.items():
        if TOKEN.search(value):
            yield Finding(("tags", key), "the tag's value looks like a token")


def _is_refused(character: str) -> bool:
    return not (character.isalnum() or character in OTHER_CHARACTERS)

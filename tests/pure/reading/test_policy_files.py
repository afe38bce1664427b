"""Copies of policies: read as they are, or refused with file and line of every mistake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slurmpod.reading.policy_files import PoliciesReading, read_policy_files
from slurmpod.reading.read import read
from tests.sound_environment import SOUND

SOUND_POLICY = """\
{
\t"Version": "2012-10-17",
\t"Statement": [
\t\t{"Sid": "All", "Effect": "Allow", "Action": ["s3:*"], "Resource": "*"}
\t]
}
"""

ROLE = "arn:aws:iam::123456789012:role/nodes"
POLICY = "arn:aws:iam::123456789012:policy/boundary"
EXISTING = f"identity: {{existing: {{controller: {ROLE}, policy_files: [a.json, b/c.json]}}}}\n"
BOUNDARY = (
    f"identity: {{permissions_boundary: {{policy_arn: {POLICY}, policy_file: boundary.json}}}}\n"
)


def files_of(
    folder: Path, text: str | bytes = SOUND_POLICY, section: str = BOUNDARY
) -> PoliciesReading:
    """Read the files that an environment in `folder` names; the boundary is `text`."""
    file = folder / "environment.yaml"
    file.write_text(f"{SOUND}{section}")
    (folder / "boundary.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    loaded = read(file)
    assert loaded.environment is not None
    return read_policy_files(loaded.environment, loaded.source)


def told(reading: PoliciesReading) -> list[tuple[int, int, str]]:
    return [(p.where.line, p.where.column, p.message) for p in reading.problems]


def test_documents_go_by_their_paths(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a.json").write_text(SOUND_POLICY)
    (tmp_path / "b" / "c.json").write_text(json.dumps(json.loads(SOUND_POLICY)))
    reading = files_of(tmp_path, section=EXISTING)
    assert reading.problems == ()
    assert dict(reading.documents) == dict.fromkeys(
        ("a.json", "b/c.json"), json.loads(SOUND_POLICY)
    )


def test_an_environment_without_files_reads_none(tmp_path: Path) -> None:
    assert files_of(tmp_path, section="") == PoliciesReading({}, ())


def test_a_file_that_is_not_there_is_told_where_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(SOUND_POLICY)
    reading = files_of(tmp_path, section=EXISTING)
    (problem,) = reading.problems
    assert problem.rule == "IDN-001"
    assert problem.where.file.endswith("environment.yaml")
    assert problem.where.path == "identity.existing.policy_files[1]"
    assert "c.json: cannot read the file: No such file" in problem.message
    assert list(reading.documents) == ["a.json"]


@pytest.mark.parametrize(
    ("text", "line", "column", "said"),
    [
        (
            '{\n  "Version": "2012-10-17",\n  "Statement": [,]\n}',
            3,
            17,
            "not JSON: Expecting value",
        ),
        ("", 1, 1, "not JSON"),
        ('{"a": NaN}', 1, 1, "JSON knows no NaN"),
        ('{"a": ' + "1" * 5000 + "}", 1, 1, "not JSON"),
        ("[" * 200_000, 1, 1, "nested too deep"),
        ("[]", 1, 1, "Version and Statement"),
        (SOUND_POLICY.replace('"Allow"', '"allow"'), 4, 28, "is Allow or Deny"),
        (SOUND_POLICY.replace('["s3:*"]', '"GetObject"'), 4, 47, "one is written service:Action"),
        (
            SOUND_POLICY.replace('"Sid": "All", ', '"Sid": "All", "Sid": "More", '),
            4,
            18,
            "the key 'Sid' is there twice, first on line 4",
        ),
        (SOUND_POLICY.replace('"Sid": "All"', '"Principal": "*"'), 4, 17, "has no principal"),
    ],
)
def test_mistakes_are_told_by_line_and_column(
    tmp_path: Path, text: str, line: int, column: int, said: str
) -> None:
    reading = files_of(tmp_path, text)
    assert reading.documents == {}
    (problem,) = reading.problems
    assert (problem.where.line, problem.where.column) == (line, column)
    assert problem.where.file.endswith("boundary.json")
    assert said in problem.message


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    text = SOUND_POLICY.replace('"Allow"', '"Perhaps"').replace('"Resource": "*"', '"Resource": 1')
    assert len(told(files_of(tmp_path, text))) == 2


def test_text_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    assert "not UTF-8" in told(files_of(tmp_path, b'{"\xff": 1}'))[0][2]


@pytest.mark.parametrize(("characters", "is_refused"), [(6000, False), (6200, True)])
def test_a_policy_that_iam_would_not_take_is_refused(
    tmp_path: Path, characters: int, is_refused: bool
) -> None:
    long = SOUND_POLICY.replace("s3:*", "s3:" + "a" * characters)
    messages = [message for _, _, message in told(files_of(tmp_path, long))]
    assert bool(messages) is is_refused
    assert all("no more than 6144" in message for message in messages)

"""Pins of packages: exact versions with the SHA-256 of their files, from a list or from wheels.

pip installs nothing else with `--require-hashes`. So everything that pip would resolve again, or
fetch from elsewhere, is refused here, before a node is paid for. Source: pip's documentation,
"Secure installs" and "Requirements file format".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from slurmpod.problems import InvalidEnvironment, Problem, Severity, Where

NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
PIN = re.compile(rf"{NAME}(?:\[[\w, .-]+\])?\s*==\s*[\w.!+-]+", re.ASCII)
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}", re.ASCII)
WHEEL = re.compile(
    r"(?P<name>[\w.]+)-(?P<version>[\w.!+]+)(?:-\d\w*)?-[\w.]+-[\w.]+-[\w.]+\.whl", re.ASCII
)
COMMENT = re.compile(r"(?:^|\s)#.*")

INDEX = "https://pypi.org/simple"
"""The default index."""

LOCK = "write the list with: uv pip compile --generate-hashes --output-file requirements.txt"


def checked_requirements(name: str, text: str) -> str:
    """Return the text of a list of pins unchanged; raises InvalidEnvironment with all mistakes."""
    problems = [
        Problem("ENV-004", Severity.ERROR, Where(name, line), *mistake)
        for line, requirement in _requirements(text)
        for mistake in _mistakes(requirement)
    ]
    if not problems and not any(_requirements(text)):
        fix = f"name the packages to install; {LOCK}"
        problems = [Problem("ENV-004", Severity.ERROR, Where(name), "nothing is pinned", fix)]
    if problems:
        raise InvalidEnvironment(problems)
    return text


def pinned_wheels(folder: str, files: Mapping[str, str]) -> str:
    """Return the list of pins that some files make, by name with their SHA-256.

    Raises InvalidEnvironment with every file that is no wheel, and packages in two versions.
    """
    problems = []
    pins: dict[str, dict[str, list[str]]] = {}
    for file, sha256 in sorted(files.items()):
        found = WHEEL.fullmatch(file)
        if not found:
            problems.append(_of_file(f"{folder}/{file}", "this is no wheel", NO_WHEEL))
            continue
        name = re.sub(r"[-_.]+", "-", found["name"]).lower()
        pins.setdefault(name, {}).setdefault(found["version"], []).append(sha256)
    for name, versions in pins.items():
        if len(versions) > 1:
            message = f"{name} is there in several versions: {', '.join(versions)}"
            problems.append(_of_file(folder, message, "keep the one that is to be installed"))
    if not files:
        problems.append(_of_file(folder, "there are no wheels", COLLECT))
    if problems:
        raise InvalidEnvironment(problems)
    return "".join(
        f"{name}=={version}" + "".join(f" \\\n    --hash=sha256:{each}" for each in hashes) + "\n"
        for name, versions in pins.items()
        for version, hashes in versions.items()
    )


COLLECT = "collect them with: pip download --only-binary=:all: --dest FOLDER PACKAGE==VERSION"
NO_WHEEL = f"remove it, as other files run programs when they are installed; {COLLECT}"


def _of_file(file: str, message: str, fix: str) -> Problem:
    return Problem("ENV-004", Severity.ERROR, Where(file), message, fix)


def _requirements(text: str) -> Iterator[tuple[int, str]]:
    """Yield each requirement, whose line may be continued, with the number of its first line."""
    whole, begun = "", 1
    for number, line in enumerate(text.splitlines(), start=1):
        bare = COMMENT.sub("", line).strip()
        begun = begun if whole else number
        if bare.endswith("\\"):
            whole += bare[:-1] + " "
            continue
        if whole + bare:
            yield begun, whole + bare
        whole = ""
    if whole:
        yield begun, whole


def _mistakes(requirement: str) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with one requirement, and what to do."""
    words = requirement.split()
    if words[0].startswith("-"):
        option = words[0].partition("=")[0]
        message = f"{option} says where files come from, and may hold a secret"
        if option in ("-e", "--editable", "-r", "--requirement", "-c", "--constraint"):
            message = f"{option} names what is not on the node"
        yield message, "remove it: the list has pins alone, and --index names the index"
        return
    hashes = [word for word in words if word.startswith("--hash")]
    pin, _, _ = " ".join(word for word in words if not word.startswith("--")).partition(";")
    if not PIN.fullmatch(pin.strip()):
        yield f"'{_bare(pin)}' pins no exact version", LOCK
    elif not hashes:
        yield f"'{_bare(pin)}' has no hash", LOCK
    elif not all(HASH.fullmatch(each) for each in hashes):
        yield f"'{_bare(pin)}' has a hash that is not one of SHA-256", LOCK


def _bare(pin: str) -> str:
    """Return the name in a requirement, without an address behind it, which may hold a secret."""
    return pin.partition("@")[0].strip()[:60]

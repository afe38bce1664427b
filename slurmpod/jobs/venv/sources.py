"""Packages that the job builds, as pip reads them: archives by SHA-256, git by commit.

Each line goes into the job's folder and into the digest of the environment. So it holds nothing
that may change later, such as a branch, nothing that a node cannot reach, and no secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from slurmpod.problems import InvalidEnvironment, Problem, Severity, Where
from slurmpod.value import Value

FOLDER = "sources"
"""Folder in the job's, for copies of local folders."""

COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}", re.ASCII)
ADDRESS = re.compile(r"https?://[^\s@#?;\\]+", re.ASCII)
SECRET = re.compile(r"[a-z+]+://(?:[^/]*@|[^#]*\?)", re.IGNORECASE)
"""Where an address may hold one: before the host, or in its query."""

INSIDE = re.compile(r"[\w.-]+(?:/[\w.-]+)*", re.ASCII)
HEX_SHOWN = 12


class Source(Value):
    """A package that is built on a node. `folder` is its local folder, if any.

    It is built alone, or among the packages of the environment, if it says so (`is_alone`).
    """

    name: str
    requirement: str
    marker: str
    told: str
    hashes: tuple[str, ...] = ()
    folder: str = ""
    is_alone: bool = True

    @property
    def line(self) -> str:
        """The line of the list of sources; its words are those of a list of requirements."""
        marked = f"{self.requirement} ; {self.marker}" if self.marker else self.requirement
        among = () if self.is_alone else ("--no-build-isolation",)
        return " ".join((marked, *among, *(f"--hash=sha256:{each}" for each in self.hashes))) + "\n"

    def copied_to(self, place: str) -> Source:
        """Return the folder as a node finds it: below the job's, at this place."""
        here = f"./{FOLDER}/{self.name}"
        return replace(self, requirement=self.requirement.replace(here, f"./{place}", 1))


class NoSource(Exception):
    """The reason why nodes cannot build a package, and the fix."""

    def __init__(self, message: str, fix: str) -> None:
        super().__init__(message)
        self.fix = fix

    def problem(self, file: str) -> Problem:
        """Return it as a problem of the file that names the package."""
        return Problem("ENV-004", Severity.ERROR, Where(file), str(self), self.fix)


def source_of(package: Mapping[str, Any]) -> Source | None:
    """Return the source of a package of a lock (PEP 751); None if an index has a wheel.

    Raises NoSource.
    """
    name, marker = package["name"], package.get("marker", "")
    if git := package.get("vcs"):
        return _of_git(name, marker, git)
    if folder := package.get("directory"):
        return _of_folder(name, marker, folder)
    if archive := package.get("archive"):
        return _of_archive(name, marker, archive)
    if package.get("wheels") or "sdist" not in package:
        return None
    version = package["version"]
    hashes = (_sha256(name, package["sdist"]),)
    return Source(
        name, f"{name}=={version}", marker, f"{name} {version}, which has no wheel", hashes
    )


def refuse(file: str, reasons: list[NoSource]) -> None:
    """Raise InvalidEnvironment with all reasons, if there are any."""
    if reasons:
        raise InvalidEnvironment([each.problem(file) for each in reasons])


def _of_git(name: str, marker: str, git: Mapping[str, Any]) -> Source:
    if git.get("type") != "git":
        raise NoSource(f"{name} comes from {git.get('type')}", "name a repository of git")
    url, commit = str(git.get("url", "")), str(git.get("commit-id", ""))
    if url.startswith("ssh:") or "://" not in url:
        message = f"{name} comes from git by SSH, for which nodes have no key"
        raise NoSource(message, f"name its address by HTTPS: {name} @ git+https://...")
    address = _reachable(name, url, "give its folder instead: -e FOLDER")
    if not COMMIT.fullmatch(commit):
        raise NoSource(f"{name} comes from git without a commit", "name one behind its address")
    revision = git.get("requested-revision", "")
    of = f" of {revision}" if revision and not commit.startswith(revision) else ""
    told = f"{name} from git: commit {commit[:HEX_SHOWN]}{of}"
    where = _subdirectory(name, git)
    return Source(name, f"{name} @ git+{address}@{commit}{where}", marker, told)


def _of_archive(name: str, marker: str, archive: Mapping[str, Any]) -> Source:
    url = str(archive.get("url", archive.get("path", "")))
    address = _reachable(name, url, "put it beside other wheels, and give them with --wheels")
    hashes = (_sha256(name, archive),)
    where = _subdirectory(name, archive)
    return Source(name, f"{name} @ {address}{where}", marker, f"{name} from {address}", hashes)


def _of_folder(name: str, marker: str, folder: Mapping[str, Any]) -> Source:
    path = str(folder.get("path", ""))
    where = _subdirectory(name, folder)
    return Source(
        name, f"{name} @ ./{FOLDER}/{name}{where}", marker, f"{name} from {path}", folder=path
    )


def _reachable(name: str, url: str, fix: str) -> str:
    if SECRET.match(url):
        raise NoSource(
            f"the address of {name} holds a secret, which would stand in the job's folder",
            "leave it out, and write it into ~/.netrc of the job's user",
        )
    if not ADDRESS.fullmatch(url):
        raise NoSource(f"{name} comes from where nodes reach nothing: {url[:200]!r}", fix)
    return url


def _sha256(name: str, file: Mapping[str, Any]) -> str:
    found = file.get("hashes", {}).get("sha256", "")
    if not re.fullmatch(r"[0-9a-f]{64}", found, re.ASCII):
        raise NoSource(f"the archive of {name} has no SHA-256", "name an index that has it")
    return str(found)


def _subdirectory(name: str, source: Mapping[str, Any]) -> str:
    inside = str(source.get("subdirectory", ""))
    if inside and (not INSIDE.fullmatch(inside) or ".." in inside.split("/")):
        raise NoSource(f"{name} is in an unusable folder: {inside!r}", "name another")
    return f"#subdirectory={inside}" if inside else ""

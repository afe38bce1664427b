"""Proof that a rehearsal on an observed image succeeded, in a file next to the profile.

The file is stored with the profile, for example in a repository, and read by the user who runs
`slurmpod patch`. It is valid only for the scripts and the profile that were rehearsed.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from slurmpod.problems import WorkFailed
from slurmpod.whole_file import write_whole


class NotProven(WorkFailed):
    """No proof that the scripts and a job ran on the image; the text says why and what to do."""


@dataclass(frozen=True)
class Canary:
    """A successful rehearsal: the prefix of the environment's scripts, the image and the job."""

    scripts: str
    profile_sha256: str
    job: str


def canary_of(profile: Path, scripts: str, job: str) -> Canary:
    """Return the proof for a rehearsal of a profile; raises OSError if it cannot be read."""
    return Canary(scripts, hashlib.sha256(profile.read_bytes()).hexdigest(), job)


def canary_file(profile: Path) -> Path:
    """Return the path of the proof."""
    return profile.with_suffix(".canary.json")


def write_canary(profile: Path, canary: Canary) -> Path:
    """Write the proof and return its path."""
    file = canary_file(profile)
    write_whole(file, f"{json.dumps(asdict(canary), indent=2)}\n")
    return file


def require_canary(profile: Path, scripts: str) -> Canary:
    """Return the proof for a profile and scripts; raises NotProven."""
    file = canary_file(profile)
    try:
        found = Canary(**json.loads(file.read_text(encoding="utf-8")))
        now = canary_of(profile, scripts, found.job)
    except OSError as error:
        raise NotProven(f"{error.filename}: {error.strerror}\n{_FIX}") from error
    except (TypeError, ValueError) as error:
        raise NotProven(f"{file} is not a valid proof of a rehearsal\n{_FIX}") from error
    if found.profile_sha256 != now.profile_sha256:
        raise NotProven(f"{profile} has changed since it was rehearsed\n{_FIX}")
    if found.scripts != now.scripts:
        raise NotProven(f"{found.scripts} was rehearsed, but {scripts} is to be deployed\n{_FIX}")
    return found


_FIX = "  fix: slurmpod rehearse ENVIRONMENT --observed PROFILE --job FOLDER"

"""The sources of a job, recorded beside it: later copies into its folder do not change them."""

from __future__ import annotations

import hashlib
import json
import shlex
from dataclasses import asdict

from slurmpod.operations.job_folder import JobFolder
from slurmpod.operations.local_files.local_file import DIGEST_BYTES

RECORDS = ".slurmpod-jobs"


def recorded(command: str, job: JobFolder) -> str:
    """Return a command that submits a job, and then records its sources under its number.

    The number is the last one that is printed. A record that cannot be written is no failure.
    """
    return (
        f'said=$({command}) || {{ status=$?; echo "$said"; exit $status; }}\n'
        'echo "$said"\n'
        "number=$(grep -oE '\\b[0-9]+\\b' <<< \"$said\" | tail -n 1)\n"
        f"mkdir -p {RECORDS} &&"
        f' printf "%s\\n" {shlex.quote(json.dumps(_record(job)))} > "{RECORDS}/$number.json"\n'
        "true"
    )


def _record(job: JobFolder) -> dict[str, object]:
    """Return the commit, and a digest of all files, which also covers uncommitted changes."""
    files = json.dumps([(name, file.digest) for name, file in sorted(job.files.items())])
    digest = hashlib.blake2b(files.encode(), digest_size=DIGEST_BYTES).hexdigest()
    commit = asdict(job.commit) if job.commit else None
    return {"commit": commit, "script": job.script, "files": digest}

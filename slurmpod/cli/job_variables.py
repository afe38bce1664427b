"""The variables and secrets of `--env`, `--env-file` and `--secret`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from slurmpod.jobs.allocation import JobRefused
from slurmpod.jobs.containers import STARTER
from slurmpod.jobs.variables import SCRIPT, Variables, variables_of
from slurmpod.operations.job_folder import JobFolder
from slurmpod.reading.text_file import Unreadable, read_text
from slurmpod.resolve import Resolved


def given_variables(
    options: argparse.Namespace, resolved: Resolved, *, in_container: bool
) -> Variables:
    """Return the variables of the options. Raises JobRefused."""
    return variables_of(
        options.env, _lines(options), options.secret, resolved, in_container=in_container
    )


def variables_for(
    options: argparse.Namespace, job: JobFolder, resolved: Resolved
) -> Mapping[str, str]:
    """Return the variables for submitting a job folder, with its Python. Raises JobRefused."""
    given = given_variables(options, resolved, in_container=STARTER in job.files)
    if given.secrets and not _takes_secrets(job):
        raise JobRefused(
            f"{job.script} takes no secrets: it does not source {SCRIPT}",
            f"render it again; or copy {SCRIPT} from a rendered job, and source it first",
        )
    python = {"PYTHON": options.python} if options.python else {}
    return {**given.for_submission, **python}


def _takes_secrets(job: JobFolder) -> bool:
    return SCRIPT in job.files and f"source ./{SCRIPT}" in (job.text(job.script) or "")


def _lines(options: argparse.Namespace) -> list[str]:
    if options.env_file is None:
        return []
    try:
        return read_text(options.env_file).splitlines()
    except Unreadable as error:
        raise JobRefused(f"{options.env_file}: {error.message}", error.fix) from None

"""Variables and secrets that a user gives to a job: names checked, secrets allowed to its nodes.

The text of a secret never comes here: the job asks Secrets Manager for it as it starts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import get_args

from slurmpod.environment.names import SecretArn
from slurmpod.jobs.allocation import JobRefused
from slurmpod.jobs.environment_rules import is_secret
from slurmpod.resolve import Resolved
from slurmpod.value import Value

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
ARN = re.compile(get_args(SecretArn)[1].metadata[0].pattern)
SCRIPT = "secrets.sh"
"""What a batch script sources to take its secrets."""

NAMES_AND_ARNS = "SLURMPOD_SECRETS"
"""The variable that lists them for the script: NAME=ARN, separated by spaces."""

OF_SLURM = ("SLURM", "SBATCH", "SRUN")
"""How variables begin that change what sbatch and srun do (sbatch(1), INPUT ENVIRONMENT VARIABLES),
or that Slurm sets itself."""

OF_THE_IMAGE = frozenset(
    {"PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONHOME", "PYTHONPATH", "HOME"}
)
"""Variables of which a container keeps those of its image (`templates/jobs/container.sh.j2`)."""


class Variables(Value):
    """Variables by name: their values, and the ARNs of those that come from Secrets Manager."""

    values: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)

    @property
    def names_and_arns(self) -> str:
        """The input of `secrets.sh`, which contains no secret."""
        return " ".join(f"{name}={arn}" for name, arn in self.secrets.items())

    @property
    def for_submission(self) -> Mapping[str, str]:
        """Return the environment of sbatch, which Slurm stores with the job."""
        listed = {NAMES_AND_ARNS: self.names_and_arns} if self.secrets else {}
        return {**self.values, **listed}


NO_VARIABLES = Variables()


def variables_of(
    values: Sequence[str],
    lines: Iterable[str],
    secrets: Sequence[str],
    resolved: Resolved,
    *,
    in_container: bool,
) -> Variables:
    """Return the variables of options: NAME=VALUE, the lines of a file, and NAME=ARN.

    Raises JobRefused.

    An option wins over a line of the file.
    """
    of_file, given = _named(_entries(lines), "file"), _named(values, "--env")
    plain, hidden = {**of_file, **given}, _named(secrets, "--secret")
    for name in (*plain, *hidden):
        _refuse_name(name, in_container=in_container)
    for name, value in plain.items():
        _refuse_value(name, value, hidden)
    for arn in hidden.values():
        _refuse_arn(arn, resolved)
    return Variables(plain, hidden)


def _entries(lines: Iterable[str]) -> Iterator[str]:
    """Yield the entries of a file; quotes mean other things to other readers of such files."""
    for line in lines:
        entry = line.strip()
        if not entry or entry.startswith("#"):
            continue
        if entry.partition("=")[2].startswith(("'", '"')):
            name = entry.partition("=")[0]
            raise JobRefused(
                f"the value of {name} stands in quotes, which would be part of it",
                "write NAME=VALUE without quotes: the value is the rest of the line",
            )
        yield entry


def _named(entries: Iterable[str], source: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in entries:
        name, separator, value = entry.partition("=")
        if not separator or not NAME.fullmatch(name):
            kind = "NAME=ARN" if source == "--secret" else "NAME=VALUE"
            raise JobRefused(f"'{name}' names no variable", f"write {kind}")
        if name in found:
            raise JobRefused(f"{name} is given twice", "leave one of them out")
        found[name] = value
    return found


def _refuse_name(name: str, *, in_container: bool) -> None:
    if name.startswith(OF_SLURM):
        raise JobRefused(
            f"{name} is a variable of Slurm, which would change the job without a trace",
            "write what you want as #SBATCH directive, or as option of srun",
        )
    if in_container and (name in OF_THE_IMAGE or name.startswith("ENROOT_")):
        raise JobRefused(
            f"{name} is not passed into a container, which has that of its image",
            "set it in the image; for modules of your own choose 'pythonpath' of own-program",
        )


def _refuse_value(name: str, value: str, hidden: Mapping[str, str]) -> None:
    if name in hidden:
        raise JobRefused(f"{name} is both a variable and a secret", "leave one of them out")
    if is_secret(name, value):
        raise JobRefused(
            f"the value of {name} looks like a secret, and would stand in files and in the queue",
            f"store it in Secrets Manager, and give --secret {name}=ARN",
        )


def _refuse_arn(arn: str, resolved: Resolved) -> None:
    if not ARN.fullmatch(arn):
        raise JobRefused(
            "a --secret has no ARN of Secrets Manager",
            "copy it as 'aws secretsmanager describe-secret' shows it",
        )
    if arn not in {each.secret_arn for each in resolved.identity.job_secrets}:
        raise JobRefused(
            f"the role of {resolved.name}'s workers may not read {arn}",
            "add it under identity.job_secrets, and deploy: secretsmanager:GetSecretValue",
        )

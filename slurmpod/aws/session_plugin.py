"""AWS's Session Manager plugin on this computer, which carries a session that AWS has begun.

It is started as the AWS CLI starts it (aws-cli 1.46, customizations/sessionmanager.py). What it
makes of its arguments stands in its own source (aws/session-manager-plugin, session.go).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

from slurmpod.aws.errors import AwsUnavailable

NAME = "session-manager-plugin"
INSTALLATION = (
    "https://docs.aws.amazon.com/systems-manager/latest/userguide/"
    "session-manager-working-with-install-plugin.html"
)
IS_MISSING = f"sessions on nodes need AWS's Session Manager plugin on this computer: {INSTALLATION}"

RESPONSE = "AWS_SSM_START_SESSION_RESPONSE"
"""The variable with what StartSession answered: a token is in it, and everybody on a computer may
read the arguments of a process."""

LAST_WITHOUT_VARIABLE = (1, 2, 497, 0)
"""The last version that takes the answer itself, and not the name of a variable."""

PROFILE = ""
"""The plugin takes the profile from the variables of the shell, as we do."""

_VERSION = re.compile(r"\d+(\.\d+){0,3}")


@dataclass(frozen=True)
class SessionPlugin:
    """The program, and whether it reads the answer of StartSession from a variable."""

    program: str
    takes_variable: bool

    @classmethod
    def found(cls) -> Self:
        """Return the plugin of this shell; raises AwsUnavailable where none can be run."""
        program = shutil.which(NAME)
        if program is None:
            raise AwsUnavailable(IS_MISSING)
        return cls(program, _takes_variable(program))

    def start(
        self,
        answer: Mapping[str, str],
        parameters: Mapping[str, Any],
        region: str,
        endpoint: str,
        terminal: int | None,
    ) -> subprocess.Popen[bytes]:
        """Let the plugin carry a session, in a terminal of its own or, with None, in ours.

        Args:
            answer: What StartSession answered.
            parameters: What it was asked.
            region: The Region that was asked.
            endpoint: The URL where it was asked.
            terminal: The descriptor of the session's own terminal.

        Raises:
            AwsUnavailable: The plugin cannot be run.
        """
        told = json.dumps(answer)
        given, variables = (RESPONSE, {RESPONSE: told}) if self.takes_variable else (told, {})
        asked = json.dumps(parameters)
        try:
            return subprocess.Popen(
                [self.program, given, region, "StartSession", PROFILE, asked, endpoint],
                env={**os.environ, **variables},
                stdin=terminal,
                stdout=terminal,
                stderr=terminal,
                start_new_session=terminal is not None,  # Ctrl-C is ours: we tell it to end
            )
        except OSError as error:
            raise _unusable(self.program, error) from error


@cache
def _takes_variable(program: str) -> bool:
    """Ask the plugin for its version; raises AwsUnavailable where it cannot be run."""
    command = [program, "--version"]
    try:
        told = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise _unusable(program, error) from error
    version = told.stdout.strip()
    is_known = _VERSION.fullmatch(version) is not None
    return is_known and tuple(map(int, version.split("."))) > LAST_WITHOUT_VARIABLE


def _unusable(program: str, error: OSError) -> AwsUnavailable:
    return AwsUnavailable(f"cannot run {program}: {error.strerror}; {IS_MISSING}")

"""AWS's Session Manager plugin on this computer, which connects a session that AWS has started.

It is started as the AWS CLI starts it (aws-cli 1.46, customizations/sessionmanager.py). The
plugin's own source shows how it reads its arguments (aws/session-manager-plugin, session.go).
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
"""The variable for the answer of StartSession: the answer has a token, and every user of a
computer may read the arguments of a process."""

LAST_WITHOUT_VARIABLE = (1, 2, 497, 0)
"""The last version that takes the answer itself instead of a variable's name."""

PROFILE = ""
"""The plugin reads the profile from the shell's variables, as slurmpod does."""

_VERSION = re.compile(r"\d+(\.\d+){0,3}")


@dataclass(frozen=True)
class SessionPlugin:
    """The program, and whether it reads the answer of StartSession from a variable."""

    program: str
    takes_variable: bool

    @classmethod
    def found(cls) -> Self:
        """Return the installed plugin; raises AwsUnavailable if none can be run."""
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
        """Start the plugin for a session, in its own terminal or, with None, in the current one.

        Args:
            answer: The answer of StartSession.
            parameters: The parameters of StartSession.
            region: The Region of the request.
            endpoint: The URL of the request.
            terminal: The descriptor of the session's own terminal.

        Raises:
            AwsUnavailable: The plugin cannot be run.
        """
        response = json.dumps(answer)
        given, variables = (
            (RESPONSE, {RESPONSE: response}) if self.takes_variable else (response, {})
        )
        asked = json.dumps(parameters)
        try:
            return subprocess.Popen(
                [self.program, given, region, "StartSession", PROFILE, asked, endpoint],
                env={**os.environ, **variables},
                stdin=terminal,
                stdout=terminal,
                stderr=terminal,
                start_new_session=terminal is not None,  # Ctrl-C: slurmpod stops the plugin
            )
        except OSError as error:
            raise _unusable(self.program, error) from error


@cache
def _takes_variable(program: str) -> bool:
    """Ask the plugin for its version; raises AwsUnavailable if it cannot be run."""
    command = [program, "--version"]
    try:
        printed = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise _unusable(program, error) from error
    version = printed.stdout.strip()
    is_known = _VERSION.fullmatch(version) is not None
    return is_known and tuple(map(int, version.split("."))) > LAST_WITHOUT_VARIABLE


def _unusable(program: str, error: OSError) -> AwsUnavailable:
    return AwsUnavailable(f"cannot run {program}: {error.strerror}; {IS_MISSING}")

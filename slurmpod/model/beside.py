"""Files that an environment names -> what is in them, or problems: scripts, users, policies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slurmpod.model.hooks import read_hooks
from slurmpod.model.own_scripts import read_own_scripts
from slurmpod.model.policy_files import read_policy_files
from slurmpod.model.users_file import read_users_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slurmpod.model.environment import Environment
    from slurmpod.model.own_scripts import OwnScripts
    from slurmpod.model.policy_files import PolicyDocument
    from slurmpod.model.users_file import ListedUser
    from slurmpod.model.yaml_source import YamlSource
    from slurmpod.problems import Problem


@dataclass(frozen=True)
class FilesBeside:
    """What was in the files; nothing for those that are not named or could not be read.

    `policies` goes by the paths that the environment writes, `hooks` by those in the bundle.
    """

    own_scripts: OwnScripts | None = None
    users: tuple[ListedUser, ...] = ()
    policies: Mapping[str, PolicyDocument] = field(default_factory=dict)
    hooks: Mapping[str, str] = field(default_factory=dict)


def read_files_beside(
    environment: Environment, source: YamlSource
) -> tuple[FilesBeside, tuple[Problem, ...]]:
    """Read all files that the environment names, relative to the file that says so."""
    scripts = read_own_scripts(environment, source)
    users = read_users_file(environment, source)
    policies = read_policy_files(environment, source)
    hooks = read_hooks(environment, source)
    beside = FilesBeside(scripts.scripts, users.users, policies.documents, hooks.scripts)
    problems = (scripts.problems, users.problems, policies.problems, hooks.problems)
    return beside, tuple(problem for each in problems for problem in each)

"""What is reported about scripts of the user around the steps; it is found as they are read."""

from slurmpod.model.hooks import RULE
from slurmpod.rules.registry import Area

HOOKS = Area("HOK", "Scripts of your own around the steps")

HOOKS.reported_elsewhere(
    RULE,
    "The scripts of hooks can be read and run",
    why="A hook that cannot be started fails every node of its role after minutes. The first line "
    "says what runs it, because S3 does not keep that a file is a program; with Windows line ends "
    "it would ask for one whose name ends in a carriage return.",
    fix="name a UTF-8 text of at most 1 MB that begins with #!, with LF line ends",
    source="slurmpod/model/hooks.py",
)

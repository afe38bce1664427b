"""deepspeed and composer: what they add to torchrun for a program. Pure.

Sources: DeepSpeed, deepspeed/launcher/runner.py and launch.py; Composer, composer/cli/launcher.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from slurmpod.jobs.allocation import JobRefused
from slurmpod.value import Value

STARTER = "slurmpod_start.py"
"""The program that sets what torchrun does not, and starts the one that trains."""

LOCAL_RANK = "--local-rank"


class Launcher(Value):
    """Options of a launcher: those that say where it runs, those without a value, and others.

    `module` are those that name a module; `silent` those without its argument --local_rank, or
    None where it passes none.
    """

    places: frozenset[str]
    flags: frozenset[str]
    module: frozenset[str]
    silent: str | None = None


LAUNCHERS = {
    "deepspeed": Launcher(
        frozenset({"H", "hostfile", "i", "include", "e", "exclude", "num_nodes", "num_gpus"})
        | {"num_accelerators", "master_port", "master_addr", "node_rank", "launcher", "ssh_port"}
        | {"launcher_args", "log_level"},
        frozenset({"no_ssh", "no_ssh_check", "force_multi", "save_pid", "q", "quiet"}),
        frozenset({"module"}),
        "no_local_rank",
    ),
    "composer": Launcher(
        frozenset({"n", "nproc", "world_size", "base_rank", "node_rank", "master_addr"})
        | {"master_port", "stdout", "stderr"},
        frozenset({"v", "verbose"}),
        frozenset({"m", "module_mode"}),
    ),
}


def of_launcher(name: str, words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what torchrun starts in place of a launcher, and what was left out.

    Raises JobRefused for options that would make it train otherwise.
    """
    launcher, rest = LAUNCHERS[name], deque(words)
    is_module, passes, left_out = False, launcher.silent is not None, list[str]()
    while rest and rest[0].startswith("-"):
        option, equals, value = rest.popleft().lstrip("-").partition("=")
        if option in launcher.module:
            is_module = True
        elif option == launcher.silent:
            passes = False
        elif option in launcher.places | launcher.flags:
            if option in launcher.places and not equals and rest:
                value = rest.popleft()
            left_out.append(f"--{option}{'=' * bool(value)}{value}: step.sh sets it")
        else:
            raise JobRefused(
                f"{name} is given --{option}, which torchrun cannot do for it",
                f"leave it out, and write the command behind --: -- {name} ...",
            )
    if not rest:
        raise JobRefused(f"{name} is given no program", "name a file or a module")
    module = ("-m",) if is_module else ()
    return (STARTER, *((LOCAL_RANK,) if passes else ()), *module, *rest), tuple(left_out)


def own_words(words: Sequence[str]) -> Sequence[str]:
    """Return a program and its arguments, without what starts it."""
    if words[:1] != (STARTER,):
        return words
    return words[2:] if words[1] == LOCAL_RANK else words[1:]

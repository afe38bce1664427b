"""`accelerate launch`: its program, and its configuration for the nodes of a job. Pure.

It passes a plugin and a precision to its program, so it still starts the program, once on each
node: step.sh sets the nodes and processes, as for torchrun. The job has a separate configuration,
derived from the repository's, because keys of a file override some options, and without a file the
one in the user's home directory would apply. Source: Accelerate, src/accelerate/commands/launch.py
and utils/launch.py.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

import yaml

from slurmpod.jobs.allocation import JobRefused

CONFIGURATION = "slurmpod_accelerate.yaml"
NAMED = "--config_file="
"""Prefix of the words of a program that accelerate starts."""

NAMES = frozenset({"accelerate", "accelerate-launch"})
PLACES = frozenset(
    {"num_processes", "num_machines", "machine_rank", "main_process_ip", "main_process_port"}
    | {"rdzv_backend", "rdzv_conf", "max_restarts", "gpu_ids", "same_network"}
    | {"deepspeed_hostfile", "deepspeed_exclusion_filter", "deepspeed_inclusion_filter"}
    | {"deepspeed_multinode_launcher"}
)
"""Options and configuration keys that set nodes and processes."""

KINDS = {
    "multi_gpu": "MULTI_GPU",
    "use_fsdp": "FSDP",
    "use_deepspeed": "DEEPSPEED",
    "use_megatron_lm": "MEGATRON_LM",
}
"""Options for the cooperation of processes, which override the configuration."""

FLAGS = frozenset(
    {*KINDS, "quiet", "q", "debug", "enable_cpu_affinity", "dynamo_use_fullgraph"}
    | {"dynamo_use_dynamic", "dynamo_use_regional_compilation", "fp8_use_autocast_during_eval"}
    | {"use_parallelism_config", "same_network"}
)
KEPT = re.compile(
    r"mixed_precision|num_cpu_threads_per_process|dynamo_backend|dynamo_mode|t|tee|log_dir|role"
    r"|monitor_interval|zero3?_\w+|offload_\w+|gradient_\w+"
    r"|(?:deepspeed|fsdp|megatron_lm|fp8|parallelism_config)_\w+"
)
KINDS_OF_FILES = frozenset({*KINDS.values(), "NO"})
HERE = "LOCAL_MACHINE"


def of_accelerate(words: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return accelerate's arguments, the configuration first, and the omitted ones.

    Raises JobRefused for options with an unknown effect here.
    """
    rest, file, kept, left_out = deque(words), "", list[str](), list[str]()
    if rest and rest[0] == "launch":
        rest.popleft()
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "--module"):
        written, equals, value = rest.popleft().partition("=")
        name = written.lstrip("-").replace("-", "_")
        if not equals and name not in FLAGS and rest:
            value = rest.popleft()
        option = f"{written}{'=' * bool(value)}{value}"
        if name == "config_file":
            file = value
        elif name in PLACES:
            left_out.append(f"{option}: step.sh sets it")
        elif name in FLAGS or KEPT.fullmatch(name):
            kept.append(option)
        else:
            raise JobRefused(
                f"accelerate is given {written}, whose effect here is not known",
                "leave it out, and write the command behind --: -- accelerate launch ...",
            )
    return (f"{NAMED}{file}", *kept, *_program(rest)), tuple(left_out)


def is_accelerated(words: Sequence[str]) -> bool:
    """Return whether accelerate starts the program."""
    return bool(words) and words[0].startswith(NAMED)


def named_configuration(words: Sequence[str]) -> str:
    """Return the configuration that the original names; empty for none."""
    return words[0].removeprefix(NAMED).removeprefix("./") if is_accelerated(words) else ""


def for_job(
    words: Sequence[str], text: str, processes: int, accelerator: str
) -> tuple[tuple[str, ...], str]:
    """Return the words for the job's own configuration, and that file. Raises JobRefused.

    `accelerator` is the kind that the nodes have, empty for none.
    """
    known = _read(named_configuration(words), text)
    options = list(takewhile(lambda each: each.startswith("--"), words[1:]))
    flags = [each.lstrip("-").replace("-", "_") for each in options]
    chosen = next((KINDS[each] for each in flags if each in KINDS), None)
    kind = chosen or known.get("distributed_type") or "NO"
    if kind in ("NO", "MULTI_GPU"):
        kind = "MULTI_GPU" if processes > 1 else "NO"
    _refuse_unsuitable(kind, accelerator)
    more = ("--deepspeed_multinode_launcher=standard",) if kind == "DEEPSPEED" else ()
    left = [each for each, flag in zip(options, flags, strict=True) if flag != "multi_gpu"]
    rest = (*left, *words[1 + len(options) :])
    written = yaml.safe_dump({**known, "compute_environment": HERE, "distributed_type": kind})
    return (f"{NAMED}{CONFIGURATION}", *more, *rest), written


def _refuse_unsuitable(kind: str, accelerator: str) -> None:
    """Raise JobRefused if accelerate would silently ignore a plugin."""
    if accelerator == "gpu" or (not accelerator and kind in ("NO", "MULTI_GPU")):
        return
    raise JobRefused(
        f"accelerate launch with {kind} needs GPUs, which the nodes do not have",
        "choose a --partition with GPUs",
    )


def _program(words: Sequence[str]) -> tuple[str, ...]:
    is_module = bool(words) and words[0] in ("-m", "--module")
    program = tuple(words)[is_module:]
    if not program or not (is_module or program[0].endswith(".py")):
        raise JobRefused("accelerate is given no program", "name a file, or a module behind -m")
    return (*(("-m",) if is_module else ()), *program)


def _read(file: str, text: str) -> dict[str, Any]:
    """Return a configuration without nodes and processes. Raises JobRefused."""
    try:
        found = yaml.safe_load(text) or {}
    except yaml.YAMLError:
        found = None
    if not isinstance(found, dict):
        raise JobRefused(f"{file} is no configuration of accelerate", "name one with --config_file")
    kind, where = found.get("distributed_type", "NO"), found.get("compute_environment", HERE)
    if kind not in KINDS_OF_FILES or where != HERE:
        raise JobRefused(
            f"{file} is for {kind} and {where}",
            f"name one for {HERE}, and one of {', '.join(sorted(KINDS_OF_FILES))}",
        )
    return dict(_kept(found))


def _kept(found: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in found.items():
        if isinstance(value, dict):
            yield name, dict(_kept(value))
        elif name not in PLACES:
            yield name, value

"""The meaning of job states, and the next step. Pure."""

from __future__ import annotations

from slurmpod.operations.why.meanings import Meaning

STATES = (
    Meaning(
        r"^OUT_OF_MEMORY",
        "the job used more memory than it had",
        "ask for more memory or nodes, or use less memory per process",
        80,
    ),
    Meaning(
        r"^TIMEOUT",
        "the job reached its time limit",
        "give it more with `--time`, and save checkpoints so that it can go on",
        80,
    ),
    Meaning(
        r"^NODE_FAIL",
        "one of its nodes failed",
        "see which, and why: slurmpod why ENV NODE; `--requeue` lets jobs start again",
        75,
    ),
    Meaning(r"^BOOT_FAIL", "a node did not start", "see why: slurmpod why ENV NODE", 75),
    Meaning(
        r"^CANCELLED by (?P<uid>\d+)", "user {uid} cancelled the job", "ask who did it, and why", 70
    ),
    Meaning(r"^CANCELLED", "the job was cancelled", "", 70),
    Meaning(r"^PREEMPTED", "a job of a higher priority took its nodes", "submit it again", 70),
    Meaning(
        r"^FAILED before it began",
        "no node could satisfy what it asks for, or it was lost before it began",
        "see why: slurmpod why ENV JOB",
        70,
    ),
    Meaning(
        r"^FAILED exit 127:0",
        "a command of the script was not found",
        "look at its output: OUT",
        70,
    ),
    Meaning(
        r"^FAILED exit (?:137:0|0:9)",
        "something killed it, most often because memory ran out",
        "look for `oom-kill` on its node: slurmpod logs ENV --job JOB --kind system",
        70,
    ),
    Meaning(
        r"^FAILED exit 126:0",
        "a command of the script may not be executed, or is no program of this machine",
        "look at its output: OUT; `chmod +x` makes a file a program",
        70,
    ),
    Meaning(
        r"^FAILED exit (?:134:0|0:6)",
        "a program aborted (signal 6 ended it): an assertion failed, or a watchdog as NCCL has one",
        "look at its output, at the rank that ended first: OUT",
        70,
    ),
    Meaning(
        r"^FAILED exit (?:135:0|0:7)",
        "a program met a bus error (signal 7 ended it): most often /dev/shm or a disk is full",
        "see how full they are: slurmpod why ENV NODE",
        70,
    ),
    Meaning(
        r"^FAILED exit (?:139:0|0:11)",
        "a program used memory that is not its own (signal 11 ended it)",
        "look at its output: OUT",
        70,
    ),
    Meaning(
        r"^FAILED exit (?:143:0|0:15)",
        "something asked it to end (signal 15): its launcher, or a process of the job itself",
        "look at its output, at what ended first: OUT",
        70,
    ),
    Meaning(
        r"^FAILED exit (?P<code>\d+):0",
        "its script ended with status {code}",
        "look at its output: OUT",
        60,
    ),
    Meaning(
        r"^FAILED exit 0:53",
        "a file that it writes or reads could not be opened, so that it never began",
        "see which: slurmpod why ENV JOB",
        70,
    ),
    Meaning(
        r"^FAILED exit 0:(?P<signal>\d+)",
        "signal {signal} ended it",
        "look at its output: OUT",
        60,
    ),
    Meaning(r"^COMPLETED", "it ended well", "", 90),
    Meaning(
        r"^RUNNING without a step",
        "it has nodes, but runs nothing there: an idle salloc, or an srun that slurmctld did not"
        " notify because it restarted",
        "where srun still says `queued and waiting for resources`: press Ctrl-C, and ask again",
        90,
    ),
    Meaning(
        r"^DEADLINE",
        "its deadline passed before it could end",
        "submit it again with a later `--deadline`",
        70,
    ),
    Meaning(
        r"^(?:SUSPENDED|STOPPED)",
        "it is suspended, and goes on where it was",
        "let it go on: `scontrol resume JOB` on a login node, by an administrator",
        70,
    ),
    Meaning(
        r"^(?:REQUEUED|REQUEUE_FED|REQUEUE_HOLD|SPECIAL_EXIT)",
        "it was put back into the queue",
        "see why it waits: slurmpod why ENV JOB",
        60,
    ),
    Meaning(r"^CONFIGURING", "its nodes are made ready for it", "wait", 60),
    Meaning(r"^STAGE_OUT", "its files are copied out of a burst buffer", "wait", 60),
    Meaning(r"^RESIZING", "the number of its nodes changes", "wait", 60),
    Meaning(r"^SIGNALING", "it is being sent a signal", "wait", 60),
    Meaning(r"^REVOKED", "another cluster of the federation runs it", "look for it there", 60),
    Meaning(
        r"^RESV_DEL_HOLD",
        "its reservation was deleted, so Slurm holds it",
        "take it out of the reservation: `scontrol update jobid=JOB reservation=`",
        65,
    ),
    Meaning(
        r"^COMPLETING",
        "it has ended, and its nodes clean up after it",
        "wait; if it lasts longer than UnkillableStepTimeout: slurmpod why ENV NODE",
        60,
    ),
    Meaning(r"^(?:RUNNING|EXPEDITING)", "it runs", "", 90),
)
"""Job states as Slurm has them; a failed one with `exit CODE:SIGNAL`. Source:
slurm/slurm.h and src/common/slurm_protocol_defs.c of Slurm 24.11.5 and 26.05.3."""

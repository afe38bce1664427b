"""The meaning of Slurm's and slurmpod's reasons for a node's state, and the fixes. Pure.

Source: the texts of set_node_down, drain_nodes and the registration of nodes in src/slurmctld, of
src/slurmd, and of src/interfaces/gres.c, of Slurm 24.11.5 and 26.05.3. HyperPod's are in its
developer guide; `slurmpod: ` is written by slurmpod_health.
"""

from __future__ import annotations

from slurmpod.operations.why.meanings import REPLACE, RESUME, WAIT, Meaning

SYMPTOM = 20
"""Up to this weight a reason follows from a cause that the node itself may show."""

GPUS = (
    "look at `nvidia-smi`, the fabric manager and Xid errors on it; reboot it: "
    "slurmpod node reboot ENV NODE; if they stay away: slurmpod node replace ENV NODE"
)
HARDWARE = "compare `slurmd -C` on the node with slurm.conf: slurmpod observe ENV --compare"
SLURMD = "see why: slurmpod logs ENV --node NODE --kind slurm; "

NODE_REASONS = (
    Meaning(
        r"gres/gpu.* (?:count reported lower than configured|count too low) \((?P<few>\d+) < "
        r"(?P<many>\d+)\)",
        "the node shows {few} of its {many} GPUs: driver, fabric manager or card",
        GPUS,
        70,
    ),
    Meaning(
        r"gres/(?P<what>\S+?)(?::\S+)? count (?:reported lower than configured|too low) "
        r"\((?P<few>\d+) < (?P<many>\d+)\)",
        "the node shows {few} of its {many} devices {what}",
        "look at the driver of the devices on it; reboot it: slurmpod node reboot ENV NODE",
        70,
    ),
    Meaning(
        r"(?i)gres/\S+ (?:count|type) changed and jobs|type \(.*\) reported but not configured|"
        r"unpack gres data",
        "the devices of the node are not those of slurm.conf",
        HARDWARE,
        65,
    ),
    Meaning(
        r"slurmpod: check: (?P<why>.*)",
        "a check of the idle node took it out of service: {why}",
        "see its earlier results: slurmpod node check ENV NODE --history; repair it, then "
        + RESUME
        + "; or "
        + REPLACE,
        70,
    ),
    Meaning(
        r"slurmpod: (?P<why>.*)",
        "slurmpod-health took the node out of service: {why}",
        "repair it, then `sudo slurmpod-health --resume` on the node; or " + REPLACE,
        70,
    ),
    Meaning(
        r"Action:Replace", "a replacement of the node was asked for, and has not ended", WAIT, 60
    ),
    Meaning(r"Action:Reboot", "a reboot of the node was asked for, and has not ended", WAIT, 60),
    Meaning(
        r"Low RealMemory(?: \(reported:(?P<has>\d+) < \S+ of configured:(?P<wants>\d+)\))?",
        "the node has less memory than slurm.conf says: {has} of {wants} MiB",
        HARDWARE,
        65,
    ),
    Meaning(
        r"(?i)low (?:socket\*core\*thread count|cpus)|bad core count|CoreSpec differ",
        "the node has fewer CPUs than slurm.conf says",
        HARDWARE,
        65,
    ),
    Meaning(r"Low TmpDisk", "the node has a smaller TmpFS than slurm.conf says", HARDWARE, 65),
    Meaning(
        r"(?i)SlurmdSpoolDir is full",
        "the disk of slurmd's spool folder is full, so that it can start no job",
        "make room there (`df -h /var/spool/slurmd` on the node); " + RESUME,
        65,
    ),
    Meaning(
        r"(?i)prolog/epilog failure|prolog error",
        "the Prolog or Epilog failed on the node",
        "see what it printed: slurmpod logs ENV --node NODE --kind slurm; " + RESUME,
        65,
    ),
    Meaning(
        r"(?i)epilog error",
        "the Epilog failed on the node",
        "see what it printed: slurmpod logs ENV --node NODE --kind slurm; " + RESUME,
        65,
    ),
    Meaning(
        r"(?i)kill task failed|batch job complete failure",
        "a process of a job could not be ended, mostly because a file system hangs",
        "reboot it: slurmpod node reboot ENV NODE",
        65,
    ),
    Meaning(
        r"(?i)duplicate jobid",
        "a job runs on the node under a number that Slurm has given again",
        "end what runs there, or reboot it: slurmpod node reboot ENV NODE",
        60,
    ),
    Meaning(
        r"(?i)switch_g_job_postfini failed|failed to set node feature|RestrictedCoresPerGPU|"
        r"topology|active features|dynamic_conf nodeline",
        "slurmd and slurm.conf do not agree on the node",
        SLURMD + RESUME,
        60,
    ),
    Meaning(
        r"NO NETWORK ADDRESS FOUND",
        "slurmctld finds no address for the name of the node",
        "see whether the node is in the cluster: slurmpod status ENV",
        60,
    ),
    Meaning(
        r"reboot timed out|ResumeTimeout reached",
        "the node did not come back in the time that slurm.conf gives it",
        "see why: slurmpod logs ENV --node NODE; " + REPLACE,
        SYMPTOM,
    ),
    Meaning(
        r"reboot (?:issued|requested|complete)|cancelled",
        "the node is rebooted by Slurm (`scontrol reboot`)",
        "wait; if it does not come back: slurmpod node reboot ENV NODE",
        55,
    ),
    Meaning(
        r"(?i)unexpectedly rebooted",
        "the node was rebooted, and not by Slurm, which therefore keeps it down",
        RESUME,
        SYMPTOM,
    ),
    Meaning(
        r"^Not responding",
        "slurmd on the node does not answer: the node is off, hung, or slurmd has ended",
        "see why: slurmpod logs ENV --node NODE; " + REPLACE,
        SYMPTOM,
    ),
    Meaning(
        r"Powered down|Set in slurm.conf",
        "slurm.conf or power saving keeps the node out of service",
        RESUME,
        50,
    ),
)
"""In the order in which they are tried; any other reason is that of the user who set it."""

"""The files that bring the environment's settings to slurmctld, and how they are kept in place.

slurm.conf belongs to HyperPod: its agent writes it late and may rewrite it. The parameters are in
slurmpod.conf, which slurm.conf includes. A systemd unit, the keeper, watches slurm.conf and
restores the include line; a start of slurmctld waits for the same unit. The agent may write
partitions and nodes when slurmctld is already running: then the unit makes slurmctld read them. It
does the same for a changed slurmpod.conf, so that slurmctld restarts only once, whatever was lost
and changed: each restart delays waiting jobs (docs/slurm.md).

Slurm rejects requests for GPUs unless GresTypes names them, which not every image's slurm.conf
does. A parameter that appears twice makes every command complain, so ours is added only if there is
none. A node whose slurmd registers with a slurm.conf that lacks it, at a slurmctld that has it
again, is drained permanently (seen once in 23 rewrites): the unit resumes such nodes.

systemd does not start a running service a second time. HyperPod may rewrite slurm.conf while
slurmctld still reads what the unit has fixed: the program checks again before it ends.

Limits of partitions cannot be in slurmpod.conf: a second PartitionName line for a partition ends
slurmctld, and ReconfigFlags=KeepPartInfo freezes the nodes of a partition that grows. At each of
its starts slurmctld runs SlurmctldPrimaryOnProg, and every `scontrol reconfigure` is one (Slurm
24.11 to 26.05): that program starts another one that sets the limits, and does not wait for it.
slurmctld 26.05 answers no request before its program has ended, so that each `scontrol` in it would
wait for the ten seconds of MessageTimeout, and so would everyone else.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping

from slurmpod_lifecycle import health_programs, slurm
from slurmpod_lifecycle.settings import NodeOptions, SlurmSettings

SLURMPOD_CONF = f"{slurm.CONFIGURATION}/slurmpod.conf"
IN_FORCE = f"{SLURMPOD_CONF}.in-force"
"""A copy of the file that slurmctld has read, or will read at its first start."""

START_PROGRAM = f"{slurm.CONFIGURATION}/slurmpod-start"
LIMITS_PROGRAM = f"{slurm.CONFIGURATION}/slurmpod-limits"
KEEPER_PROGRAM = f"{slurm.CONFIGURATION}/slurmpod-keep"
TOPOLOGY_PROGRAM = f"{slurm.CONFIGURATION}/slurmpod-topology"

EXTERN_STEP_FLAG = "Contain"
"""The flag that gives every job the extra step that pam_slurm_adopt needs (slurm.conf(5))."""

NOTE = "# Written by slurmpod's lifecycle scripts"

KEEPER_UNIT = f"""\
{NOTE}.
[Unit]
Description=Keep what slurmpod adds to slurm.conf
Before=slurmctld.service
StartLimitIntervalSec=0

[Service]
Type=oneshot
ExecStart={KEEPER_PROGRAM}

[Install]
WantedBy=slurmctld.service
"""

WATCH_UNIT = f"""\
{NOTE}.
[Unit]
Description=Watch slurm.conf
StartLimitIntervalSec=0

[Path]
PathChanged={slurm.SLURM_CONF}

[Install]
WantedBy=multi-user.target
"""

PATIENCE_SECONDS = 5
"""HyperPod usually makes slurmctld read its changes; two simultaneous requests would collide."""

MISCOUNTED = r"gres/[a-z_]+ count reported lower than configured [(]0 < [0-9]+[)]"
"""slurmctld's reason for a node whose slurmd found no accelerator, also valid in awk."""

_KEEPER = f"""\
#!/bin/sh
{NOTE}: restores the lines that slurm.conf has lost, and makes
# slurmctld read it again if lines were lost, if slurmctld does not know a listed node or partition,
# or if slurmpod.conf has changed.
# A change while it runs does not start it again: it ends once nothing changed since its check.
conf={slurm.SLURM_CONF}
cd {slurm.CONFIGURATION} || exit 1
began=$(date +%FT%T)
gres={{gres_types}}
unread=
uncounted=
put_back() {{
    printf '\\n%s\\n' "$1" >>"$conf" || exit 1
    unread=yes
}}
put_back_lost() {{
    set -- {{files}}
    for file; do
        [ -e "$file" ] || continue
        name=$(basename "$file")
        line="^[[:space:]]*include[[:space:]]+([^[:space:]]*/)?${{name}}[[:space:]]*\\$"
        grep -Eiq "$line" "$conf" || put_back "include $name"
    done
    [ "$gres" ] || return
    grep -Eiqs '^[[:space:]]*GresTypes[[:space:]]*=' ./*.conf && return
    put_back "GresTypes=$gres"
    uncounted=yes
}}
named() {{
    sed -En "s/^[[:space:]]*$1[[:space:]]*=[[:space:]]*([^[:space:]]+).*/\\1/Ip" "$conf" |
        grep -ivx default
}}
knows() {{ # retries without an answer: slurmctld is probably starting, and reads the file itself
    for attempt in 1 2 3 4 5; do
        shown=$({slurm.COMMANDS}/scontrol show "$@" 2>&1) && return
        case $shown in *' not found'*) return 1 ;; esac
        [ "$attempt" -lt 5 ] || exit 1
        sleep 1
    done
}}
knows_all() {{
    nodes=$(named NodeName | paste -s -d , -)
    [ -z "$nodes" ] || knows node "$nodes" || return 1
    for partition in $(named PartitionName); do
        knows partition "$partition" || return 1
    done
}}
reconfigure() {{
    cp {SLURMPOD_CONF} {IN_FORCE}.$$ || exit 1
    for attempt in 1 2 3 4 5; do
        systemctl is-active --quiet slurmctld || exit 0
        {slurm.COMMANDS}/scontrol reconfigure && mv {IN_FORCE}.$$ {IN_FORCE} && return
        [ "$attempt" -lt 5 ] || exit 1
        sleep 1
    done
}}
resume_miscounted() {{
    {slurm.COMMANDS}/sinfo --noheader --Node --format='%N|%H|%E' | sort -u |
        awk -F '|' -v began="$began" '$2 >= began && $3 ~ "^{MISCOUNTED}$" {{ print $1 }}' |
        while read -r node; do
            {slurm.COMMANDS}/scontrol update nodename="$node" state=resume
        done
}}
is_as_seen() {{
    [ "$seen" = "$(sha256sum "$conf")" ]
}}
while [ -e "$conf" ]; do
    [ ! -x {TOPOLOGY_PROGRAM} ] || {TOPOLOGY_PROGRAM}
    seen=$(sha256sum "$conf")
    pauses=1
    put_back_lost
    cmp -s {SLURMPOD_CONF} {IN_FORCE} || unread=yes
    is_as_seen || continue
    systemctl is-active --quiet slurmctld || exit 0
    if [ "$unread" ]; then
        reconfigure
        unread=
        pauses=0
    fi
    [ -z "$uncounted" ] || pauses=4
    while [ "$pauses" -gt 0 ] && is_as_seen; do
        sleep {PATIENCE_SECONDS}
        [ -z "$uncounted" ] || resume_miscounted
        pauses=$((pauses - 1))
    done
    is_as_seen || continue
    knows_all || reconfigure
    ! is_as_seen || exit 0
done
"""


def keeper_program(*files: str, gres_types: Collection[str] = ()) -> str:
    """Return the script that makes slurm.conf include those of `files` that exist.

    `gres_types` are the accelerators to declare in slurm.conf, unless it declares some itself.
    """
    program = _KEEPER.replace("{files}", shlex.join(files))
    return program.replace("{gres_types}", shlex.quote(",".join(sorted(gres_types))))


def slurmpod_conf(settings: SlurmSettings, options: NodeOptions | None = None) -> str:
    """Return slurmpod.conf: the parameters, sorted, one per line.

    Programs that nodes run before and after jobs are added to those of the image or the user: Slurm
    runs all of them. Flags are added to the user's.
    """
    parameters = dict(settings.configuration)
    if settings.partitions:
        parameters["SlurmctldPrimaryOnProg"] = START_PROGRAM
    if options and options.ssh_needs_job:
        name = next((name for name in parameters if name.lower() == "prologflags"), "PrologFlags")
        flags = parameters.get(name, "").split(",")
        parameters[name] = ",".join(filter(None, [*flags, EXTERN_STEP_FLAG]))
    lines = [f"{name}={_quoted(value)}" for name, value in sorted(parameters.items())]
    if options and options.health_checks:
        lines += health_programs.parameters(parameters)
    return "".join(f"{line}\n" for line in [f"{NOTE}; included by slurm.conf.", *lines])


def start_program(*, then: str) -> str:
    """Return the script that slurmctld runs at its start, as the user `slurm`.

    The limits are set in a separate session, as Slurm kills what its program leaves behind. Slurm
    runs only one program: `then` is a second one to run as well, or empty.
    """
    lines = ["#!/bin/sh", f"{NOTE}; slurmctld runs it when it starts, and waits for its end."]
    lines.append(f"setsid --fork {LIMITS_PROGRAM} </dev/null >/dev/null 2>&1")
    if then:
        lines.append(f"[ ! -x {then} ] || {then}")
    return "".join(f"{line}\n" for line in lines)


def limits_program(partitions: Mapping[str, Mapping[str, str]]) -> str:
    """Return the script that sets the limits of partitions."""
    lines = ["#!/bin/sh", f"{NOTE}.", "status=0"]
    for name, options in partitions.items():
        given = [f"{option}={value}" for option, value in sorted(options.items())]
        words = (f"{slurm.COMMANDS}/scontrol", "update", f"PartitionName={name}", *given)
        lines.append(f"{shlex.join(words)} || status=$?")
    return "".join(f"{line}\n" for line in [*lines, "exit $status"])


def _quoted(value: str) -> str:
    """Format a value for slurm.conf, which ends at a blank unless quoted."""
    return f'"{value}"' if " " in value else value

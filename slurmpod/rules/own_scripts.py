"""Rules for lifecycle scripts that the user brings: whether they suit the environment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from slurmpod.environment.suggestion import did_you_mean
from slurmpod.problems import Severity, YamlPath, first_of
from slurmpod.reading.hooks import hook_path, hook_place, named_hooks
from slurmpod.reading.own_scripts import BYTES_LIMIT, FILES_LIMIT, RULE, OwnScripts
from slurmpod.request import is_configured_by_api
from slurmpod.resolve import Resolved
from slurmpod.rules.egress import COMMANDS, needs_internet
from slurmpod.rules.lifecycle import APPLIED_BY_SCRIPTS, SCRIPTS
from slurmpod.rules.node_options import asked_of_nodes
from slurmpod.rules.registry import LIFECYCLE_MODE, Area, Finding
from slurmpod.value import Value

OWN_SCRIPTS = Area("OWN", "Lifecycle scripts of your own", reads=("lifecycle",))

TROUBLESHOOTING = (
    "https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-troubleshooting-slurm.html"
)
FOLDER = ("lifecycle", "scripts")

STARTS_SLURM = (
    r"\bsystemctl\s+(-\S+\s+)*(enable|start|restart)\s+(-\S+\s+)*(slurmctld|slurmd|slurmdbd)\b"
)
MENTIONS_SLURMCTLD = r"\bslurmctld\b"
AWS_CONFIGURE = r"\baws\s+configure\b"
KEY_TEXT = r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\bAKIA[0-9A-Z]{16}\b"
USUAL_GROUP = (
    r"(?<![\w-])(?:controller-machine|compute-nodes|login-(?:nodes|group)|worker-group-1)(?![\w-])"
)
"""Names of groups in AWS's examples, from which many scripts come."""

INSTALLS = (
    r"\b(?:apt|apt-get|aptitude|dnf|yum)(?:\s+-[^\s$]+)*"
    r"\s+(?:install|upgrade|dist-upgrade|full-upgrade|remove|purge|autoremove)(?=\s|$)"
)
ASSUMES_YES = (
    r"\s(?:-[a-zA-Z]*[ysd][a-zA-Z]*|-qq|-q=2|--yes|--assume-yes|--assumeyes|--simulate|--dry-run"
    r"|--download-only)(?=\s|$)"
)
PROMPTS = r"(?:^|\s)read\s+(?:-\S+\s+)*-[a-zA-Z]*p\b"
ANSWERED = r"\byes\b[^|]*\||<<<|</dev/null"
"""Options that answer in advance."""

REBOOTS = (
    r"\s*(?:(?:then|do|else|exec|sudo|nohup)\s+|[({]\s*)*(?P<command>(?:/usr)?(?:/s?bin/)?"
    r"(?:(?:reboot|poweroff|halt)(?![\w=-])|shutdown\s+(?!-c)\S+|init\s+[06]\b"
    r"|systemctl\s+(?:-\S+\s+)*(?:reboot|poweroff|halt|kexec|soft-reboot)\b))"
)

SHOWN = 5


OWN_SCRIPTS.reported_elsewhere(
    RULE,
    "The folder with your scripts can be read",
    why="Its files are copied to S3 and from there to every node as they are. Links out of the "
    "folder, names that S3 cannot have, and more than "
    f"{FILES_LIMIT} files or {BYTES_LIMIT // 1_000_000} MB are refused.",
    fix="name a folder with readable files, relative to the file that says so",
    source="slurmpod/reading/own_scripts.py",
)


@OWN_SCRIPTS.rule(
    "OWN-002",
    "The entry script is in the folder",
    why="HyperPod starts one script by its name, and fails every node when it is not there.",
    fix="put it at the top of the folder, or name another one in lifecycle.entry_script",
    source=SCRIPTS,
    reads=LIFECYCLE_MODE,
)
def _entry_is_there(resolved: Resolved) -> Iterator[Finding]:
    own, entry = resolved.lifecycle.own_scripts, resolved.lifecycle.entry_script
    if not own or not entry or entry in own.files:
        return
    at_top = [path for path in own.files if "/" not in path]
    message = f"{own.folder} has no {entry} (at its top: {first_of(at_top, SHOWN) or 'no file'})"
    path = ("lifecycle", "entry_script") if resolved.environment.lifecycle.entry_script else FOLDER
    yield Finding(path, message, did_you_mean(entry, at_top))


@OWN_SCRIPTS.rule(
    "OWN-003",
    "The entry script begins with #!",
    why="It is started as a program. Without a first line such as #!/bin/bash it depends on who "
    "starts it whether, and by what, it is run.",
    fix="begin the script with #!/bin/bash",
    source="https://man7.org/linux/man-pages/man2/execve.2.html",
    severity=Severity.WARNING,
    reads=LIFECYCLE_MODE,
)
def _entry_has_a_shebang(resolved: Resolved) -> Iterator[Finding]:
    own, entry = resolved.lifecycle.own_scripts, resolved.lifecycle.entry_script
    if own and entry and not _without_bom(own.files.get(entry, b"#!")).startswith(b"#!"):
        yield Finding(FOLDER, f"{entry} does not begin with #!")


@OWN_SCRIPTS.rule(
    "OWN-004",
    "Scripts are plain Linux text",
    why="With Windows line ends the first line asks for a program whose name ends in a carriage "
    "return, and every word at the end of a line is another one. A byte order mark hides #!.",
    fix="save them with LF line ends and without byte order mark, e.g. with dos2unix",
    source=TROUBLESHOOTING,
)
def _linux_text(resolved: Resolved) -> Iterator[Finding]:
    own = resolved.lifecycle.own_scripts
    for path, content in own.files.items() if own else ():
        is_script = _without_bom(content).startswith(b"#!") or path.endswith((".sh", ".bash"))
        if not is_script or text_of(content) is None:
            continue
        if b"\r\n" in content:
            yield Finding(FOLDER, f"{path} has Windows line ends")
        elif _without_bom(content) != content:
            yield Finding(FOLDER, f"{path} begins with a byte order mark")


@OWN_SCRIPTS.rule(
    "OWN-005",
    "Scripts that run after HyperPod do not start Slurm",
    why="In extended mode HyperPod has configured and started Slurm before. What starts it again "
    "works against that; on the controller, slurmd removes slurm.conf.",
    fix="remove the lines, or use lifecycle mode customer",
    source=SCRIPTS,
    severity=Severity.WARNING,
    reads=LIFECYCLE_MODE,
)
def _slurm_runs_already(resolved: Resolved) -> Iterator[Finding]:
    own = resolved.lifecycle.own_scripts
    if own and resolved.lifecycle.mode == "extended":
        places = [str(line) for line in lines_of(own) if re.search(STARTS_SLURM, line.text)]
        if places:
            yield Finding(FOLDER, f"Slurm is started in {first_of(places, SHOWN)}")


@OWN_SCRIPTS.rule(
    "OWN-006",
    "In customer mode the scripts start Slurm",
    why="HyperPod then writes slurm.conf, but starts no daemon. A cluster whose scripts do not "
    "either has no scheduler.",
    fix="start slurmctld on the controller and slurmd on the other nodes, or use extended mode",
    source=SCRIPTS,
    severity=Severity.WARNING,
    reads=LIFECYCLE_MODE,
)
def _somebody_starts_slurm(resolved: Resolved) -> Iterator[Finding]:
    own = resolved.lifecycle.own_scripts
    if not own or resolved.lifecycle.mode != "customer":
        return
    if not any(re.search(MENTIONS_SLURMCTLD, text_of(each) or "") for each in own.files.values()):
        yield Finding(FOLDER, "no file mentions slurmctld")


@OWN_SCRIPTS.rule(
    "OWN-007",
    "In a closed network scripts and hooks fetch nothing from the internet",
    why="There is no way out: what waits for the internet fails after minutes, and the node with "
    "it.",
    fix="bring it in the image, in the folder or through S3, or write 'closed: false'",
    source=SCRIPTS,
    severity=Severity.WARNING,
    reads=("lifecycle", "network"),
)
def _stays_inside(resolved: Resolved) -> Iterator[Finding]:
    for place, name, text in texts_of(resolved) if resolved.network.closed else ():
        for line in lines_in(name, text):
            if found := needs_internet(line.text):
                yield Finding(place, f"{line} needs the internet: {found}")


@OWN_SCRIPTS.rule(
    "OWN-008",
    "Scripts name groups that there are",
    why="AWS's example scripts know groups by the names of AWS's examples. Where groups are called "
    "otherwise, such a line does nothing, or the wrong thing.",
    fix="use the environment's names, or find the role in provisioning_parameters.json",
    source=SCRIPTS,
    severity=Severity.WARNING,
    reads=("cluster", "lifecycle"),
)
def _groups_are_known(resolved: Resolved) -> Iterator[Finding]:
    own = resolved.lifecycle.own_scripts
    known = {group.name for group in resolved.groups}
    for line in lines_of(own) if own else ():
        for name in dict.fromkeys(re.findall(USUAL_GROUP, line.text)):
            if name not in known:
                yield Finding(FOLDER, f"{line} mentions a group '{name}', which does not exist")


@OWN_SCRIPTS.rule(
    "OWN-009",
    "Nodes keep the credentials of their role",
    why="'aws configure' on a node puts other credentials in their place. The agents of HyperPod "
    "and Session Manager then have no access.",
    fix="remove the line, and give the execution role what the scripts need",
    source=TROUBLESHOOTING,
    severity=Severity.WARNING,
)
def _keeps_credentials(resolved: Resolved) -> Iterator[Finding]:
    own = resolved.lifecycle.own_scripts
    for line in lines_of(own) if own else ():
        if re.search(AWS_CONFIGURE, line.text):
            yield Finding(FOLDER, f"{line} runs 'aws configure'")


@OWN_SCRIPTS.rule(
    "OWN-010",
    "Scripts and hooks contain no secrets",
    why="Everyone with access to the bucket or to a node can read the scripts, and old versions "
    "are kept.",
    fix="put it into Secrets Manager, and let the script read it on the node",
    source="https://docs.aws.amazon.com/secretsmanager/latest/userguide/best-practices.html",
    severity=Severity.WARNING,
)
def _no_secrets(resolved: Resolved) -> Iterator[Finding]:
    for place, name, text in texts_of(resolved):
        if re.search(KEY_TEXT, text):
            yield Finding(place, f"{name} holds what looks like a private key or an access key")


@OWN_SCRIPTS.rule(
    "OWN-011",
    "Your scripts do what the environment asks of nodes",
    why="slurmpod's scripts would do this, but yours run in their place. slurmpod cannot check "
    "whether they do it.",
    fix="do it in your scripts, and accept this warning, or remove the key",
    source="slurmpod/bundle/bundle.py",
    severity=Severity.WARNING,
    reads=("access", "checks", "slurm", "storage", *LIFECYCLE_MODE),
)
def _somebody_does_it(resolved: Resolved) -> Iterator[Finding]:
    if not resolved.lifecycle.own_scripts:
        return
    storage, database = resolved.environment.storage, resolved.database
    is_customer = not is_configured_by_api(resolved)
    left: list[tuple[object, YamlPath]] = [
        (storage.additional_lustre, ("storage", "additional_lustre")),
        (storage.s3_mounts, ("storage", "s3_mounts")),
        (is_customer and storage.openzfs, ("storage", "openzfs")),
        (is_customer and database, database.path if database else ()),
        *((getattr(resolved.slurm, key), ("slurm", key)) for key in APPLIED_BY_SCRIPTS),
        *((True, path) for path in asked_of_nodes(resolved)),
    ]
    for value, path in left:
        if value:
            yield Finding(path, "your own scripts have to do this", at_key=True)


@OWN_SCRIPTS.rule(
    "OWN-012",
    "No script or hook waits for an answer",
    why="There is no terminal during a node's setup: programs that prompt before they install "
    "give up, and the script fails.",
    fix="add -y, or leave the question out",
    source=SCRIPTS,
    severity=Severity.WARNING,
)
def _nothing_asks(resolved: Resolved) -> Iterator[Finding]:
    for place, name, text in texts_of(resolved):
        for line in lines_in(name, text) if "Assume-Yes" not in text else ():
            if question := asks(line.text):
                yield Finding(place, f"{line} asks before it goes on: {question}")


@OWN_SCRIPTS.rule(
    "OWN-013",
    "No script or hook restarts the node",
    why="HyperPod waits for the scripts of a new node to end. A node that restarts on its way "
    "there counts as failed.",
    fix="remove the line; restart what needs it with systemctl restart",
    source=SCRIPTS,
    severity=Severity.WARNING,
)
def _nothing_reboots(resolved: Resolved) -> Iterator[Finding]:
    for place, name, text in texts_of(resolved):
        for line in lines_in(name, text):
            if command := restarts(line.text):
                yield Finding(place, f"{line} restarts or stops the node: {command}")


def asks(line: str) -> str:
    """Return what in a line of a shell waits for an answer; nothing where nothing does."""
    if re.search(ANSWERED, line):
        return ""
    commands = COMMANDS.split(line)
    installs = (re.search(INSTALLS, command) for command in commands)
    asking = (
        found.group() for found in installs if found and not re.search(ASSUMES_YES, found.string)
    )
    prompts = (found.group() for command in commands if (found := re.search(PROMPTS, command)))
    return next(chain(asking, prompts), "")


def restarts(line: str) -> str:
    """Return the command in a line of a shell that restarts or stops the node, or nothing."""
    commands = (re.match(REBOOTS, command) for command in COMMANDS.split(line))
    return next((found["command"] for found in commands if found), "")


def texts_of(resolved: Resolved) -> Iterator[tuple[YamlPath, str, str]]:
    """Yield all that the user brings for nodes to run: where it is named, its name, its text."""
    own, hooks = resolved.lifecycle.own_scripts, resolved.lifecycle.hooks
    for path, content in own.files.items() if own else ():
        yield FOLDER, path, text_of(content) or ""
    for role, when, file in named_hooks(resolved.environment):
        yield hook_place(role, when), file, hooks.get(hook_path(role, when), "")


def _without_bom(content: bytes) -> bytes:
    return content.removeprefix(b"\xef\xbb\xbf")


NO_SCRIPTS = (".json", ".md", ".txt", ".csv", ".html", ".conf", ".yaml", ".yml")
"""Endings of files that are text, but nothing that runs."""

COMMENT = r"(^|\s)#.*"


class Line(Value):
    """A line as a shell takes it: without comment, and with the lines that continue it."""

    path: str
    number: int
    text: str

    def __str__(self) -> str:
        """Return the place as editors understand it."""
        return f"{self.path}:{self.number}"


def lines_of(scripts: OwnScripts) -> Iterator[Line]:
    """Yield the lines of every script in a folder."""
    for path, content in scripts.files.items():
        yield from lines_in(path, text_of(content) or "")


def lines_in(path: str, text: str) -> Iterator[Line]:
    """Yield the lines of one file; none where its name says that it does not run."""
    if path.lower().endswith(NO_SCRIPTS):
        return
    parts: list[str] = []
    for number, written in enumerate((*text.splitlines(), ""), start=1):
        line = re.sub(COMMENT, "", written)
        parts.append(line.removesuffix("\\"))
        if not line.endswith("\\"):
            yield Line(path, number - len(parts) + 1, " ".join(parts))
            parts.clear()


def text_of(content: bytes) -> str | None:
    """Return the text of a file, or None for one that is no text."""
    if b"\0" in content:
        return None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None

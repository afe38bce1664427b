"""Rules for single parameters of slurm.conf."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.environment.cluster import Role
from slurmpod.environment.slurm_combinations import FILES_OF_PLUGINS, SCRIPT_OF_CLI_FILTER
from slurmpod.environment.slurm_parameters import Parameter, slurm_parameters
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.problems import Severity, YamlPath
from slurmpod.reading.hooks import hook_path
from slurmpod.resolve import Resolved
from slurmpod.rules.partitions import SLURM_CONF
from slurmpod.rules.registry import Area, Finding

SETTINGS = Area("SET", "Parameters of slurm.conf", reads=("slurm",))

PARAMETERS = "slurmpod/data/slurm_parameters.csv"
SURELY_MEANT = 0.88
"""How alike two names are (difflib) of which one is a slip: SlurmdTimout, SchedulerParameter."""

SLURM_CONFIGURATION = (
    "https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-hyperpod-ref.html"
    "#sagemaker-hyperpod-ref-slurm-configuration"
)


@SETTINGS.rule(
    "SET-001",
    "Parameters of HyperPod are left to it",
    why="HyperPod's agents write them and rely on them; a second value breaks the cluster, or is "
    "gone with the next update.",
    fix="remove the parameter",
    source=SLURM_CONFIGURATION,
)
def _hyperpod_owns(resolved: Resolved) -> Iterator[Finding]:
    for path, parameter, _value in _known(resolved):
        if parameter.owner == "hyperpod":
            yield Finding(path, f"{parameter.name} is HyperPod's: {parameter.why}", at_key=True)


@SETTINGS.rule(
    "SET-002",
    "Parameters of slurmpod's own steps are set where they belong",
    why="The lifecycle scripts write them from other keys of the environment.",
    fix="remove the parameter and use what the message names",
    source=PARAMETERS,
)
def _slurmpod_owns(resolved: Resolved) -> Iterator[Finding]:
    for path, parameter, _value in _known(resolved):
        if parameter.owner == "slurmpod":
            yield Finding(path, f"{parameter.name} is not set here: {parameter.why}", at_key=True)


@SETTINGS.rule(
    "SET-003",
    "No parameter is out of date",
    why="Slurm 25.11 or 24.11 knows it no longer, and slurmctld does not start with what it does "
    "not know.",
    fix="remove the parameter, or use its successor",
    source=SLURM_CONF,
)
def _not_gone(resolved: Resolved) -> Iterator[Finding]:
    for path, parameter, _value in _known(resolved):
        if parameter.owner == "gone":
            yield Finding(path, f"{parameter.name} is out of date: {parameter.why}", at_key=True)


@SETTINGS.rule(
    "SET-004",
    "Every parameter is spelled correctly",
    why="slurmctld does not start with a parameter that it does not know.",
    fix="correct the name",
    source=SLURM_CONF,
)
def _spelled_correctly(resolved: Resolved) -> Iterator[Finding]:
    for path, name in _unknown(resolved):
        if near := _near(name, resolved):
            message = f"Slurm knows no parameter {name}"
            yield Finding(path, message, f"did you mean '{near}'?", at_key=True)


@SETTINGS.rule(
    "SET-005",
    "Every parameter is one of slurm.conf's own",
    why="slurmctld does not start with a parameter that it does not know. Options of partitions "
    "and nodes belong in their lines only, parameters of cgroup.conf in that file.",
    fix="remove the parameter, or correct its name",
    source=PARAMETERS,
)
def _known_to_slurm(resolved: Resolved) -> Iterator[Finding]:
    for path, parameter, _value in _known(resolved):
        if parameter.owner == "elsewhere":
            message = f"{parameter.name} is no parameter of the whole cluster: {parameter.why}"
            yield Finding(path, message, "remove it from settings", at_key=True)
    for path, name in _unknown(resolved):
        if not _near(name, resolved):
            message = f"no Slurm from 24.11 to 26.05 knows {name}"
            yield Finding(path, message, did_you_mean(name, _free_names(resolved)), at_key=True)


@SETTINGS.rule(
    "SET-006",
    "Every value has the form that Slurm reads",
    why="With a value of another form slurmctld does not start, or silently keeps the default.",
    fix="write a value of the kind that the message names",
    source=SLURM_CONF,
)
def _form_is_right(resolved: Resolved) -> Iterator[Finding]:
    for path, parameter, value in _known(resolved):
        if parameter.owner == "user" and (expected := parameter.expected(value)):
            yield Finding(path, f"{parameter.name} is {expected}, not '{value}'")


@SETTINGS.rule(
    "SET-007",
    "Every version of Slurm on the image knows the parameter",
    why="HyperPod's image has Slurm 24.11 and 25.11; which of them runs can be switched.",
    fix="make sure that /opt/slurm leads to the newer version, then accept the warning",
    source=SLURM_CONF,
    severity=Severity.WARNING,
)
def _not_too_new(resolved: Resolved) -> Iterator[Finding]:
    for path, parameter, value in _known(resolved):
        if parameter.owner == "user" and parameter.since:
            message = f"{parameter.name} came with Slurm {parameter.since}: 24.11 does not start"
            yield Finding(path, message, at_key=True)
        for option in parameter.options(value):
            if since := parameter.words_since.get(option.partition("=")[0].lower()):
                yield Finding(path, f"'{option}' came with Slurm {since}: 24.11 does not know it")


@SETTINGS.rule(
    "SET-008",
    "Every parameter is given once",
    why="Slurm does not care about case, so that one of two values would silently win.",
    fix="remove one of them",
    source=SLURM_CONF,
)
def _given_once(resolved: Resolved) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for name in resolved.slurm.settings:
        first = seen.setdefault(name.lower(), name)
        if first != name:
            yield Finding(_at(name), f"{name} is given as {first} already", at_key=True)


@SETTINGS.rule(
    "SET-009",
    "Programs that Slurm runs are on its nodes",
    why="slurmctld does not start without its own programs and plugins, and nodes whose "
    "Prolog is missing are drained. slurmpod does not put the file there.",
    fix="make sure that your image has the file, then accept the warning",
    source="https://slurm.schedmd.com/prolog_epilog.html",
    severity=Severity.WARNING,
    reads=("cluster", "lifecycle", "slurm"),
)
def _programs_are_there(resolved: Resolved) -> Iterator[Finding]:
    for path, parameter, value in _known(resolved):
        if parameter.kind == "program" and not value.startswith(("/bin/", "/usr/bin/")):
            yield Finding(path, f"nothing here puts {value} on the nodes")
    if _somebody_fills_controllers(resolved):
        yield from _missing_plugins(resolved)


@SETTINGS.rule(
    "SET-010",
    "Every word inside a parameter is known",
    why="Of a list of options Slurm takes those that it knows. It says nothing of the others, and "
    "keeps its defaults; an unknown debug flag stops slurmctld.",
    fix="correct the word, or remove it",
    source=SLURM_CONF,
)
def _options_are_known(resolved: Resolved) -> Iterator[Finding]:
    for path, parameter, value in _known(resolved):
        if parameter.owner != "user" or parameter.kind != "options":
            continue
        for option in parameter.options(value):
            if problem := parameter.option_problem(option):
                name = option.partition("=")[0]
                is_known = name.lower() in map(str.lower, parameter.option_names)
                hint = "" if is_known else did_you_mean(name, parameter.option_names)
                yield Finding(path, problem, hint)


@SETTINGS.rule(
    "SET-011",
    "Plugins and their files are on the controller",
    why="slurmctld does not start without one of its plugins, or without the file of one. Only an "
    "image of your own, scripts of your own or a hook before slurmpod's steps can put it there.",
    fix="remove the parameter, or put the file there in lifecycle.hooks.controller.before",
    source=SLURM_CONF,
    reads=("cluster", "lifecycle", "slurm"),
)
def _plugins_are_there(resolved: Resolved) -> Iterator[Finding]:
    if not _somebody_fills_controllers(resolved):
        yield from _missing_plugins(resolved)


@SETTINGS.rule(
    "SET-012",
    "The script of cli_filter/lua is on every node",
    why="sbatch, srun and salloc end at once ('failed to initialize cli_filter plugin') on a node "
    "without the script. Slurm does not send it to nodes, and slurmpod does not write it.",
    fix=f"remove lua, or put {SCRIPT_OF_CLI_FILTER} there in lifecycle.hooks of every role",
    source="https://slurm.schedmd.com/cli_filter_plugins.html",
    reads=("cluster", "lifecycle", "slurm"),
)
def _script_of_cli_filter_is_there(resolved: Resolved) -> Iterator[Finding]:
    plugins = resolved.slurm.settings.get("CliFilterPlugins", "").split(",")
    if "lua" not in {each.strip().rpartition("/")[2] for each in plugins}:
        return
    if lacking := [role for role in Role if not _somebody_fills(resolved, role)]:
        nodes = " and ".join(f"{role.value}s" for role in lacking)
        message = f"lua needs {SCRIPT_OF_CLI_FILTER}, and nothing here puts it on {nodes}"
        yield Finding(_at("CliFilterPlugins"), message)


def _somebody_fills(resolved: Resolved, role: Role) -> bool:
    """Return whether something that is not slurmpod's own can put files on all nodes of a role."""
    if resolved.lifecycle.own_scripts is not None:
        return True
    if any(hook_path(role.value, when) in resolved.lifecycle.hooks for when in ("before", "after")):
        return True
    return all(group.settings.image_id for group in resolved.groups_with(role))


def _missing_plugins(resolved: Resolved) -> Iterator[Finding]:
    """Yield the plugins that Slurm does not have, and those whose file is missing."""
    for path, parameter, value in _known(resolved):
        if parameter.kind not in {"plugin", "plugins", "choice"}:
            continue
        names = [word.rpartition("/")[2] for word in parameter.words]
        for plugin in parameter.options(value):
            name = plugin.rpartition("/")[2]
            if file := FILES_OF_PLUGINS.get((parameter.name, name)):
                message = f"{plugin} needs {file}, and nothing here puts it on the controller"
                yield Finding(path, message)
            elif parameter.kind != "choice" and name not in names:
                message = f"Slurm comes without a plugin '{name}' for {parameter.name}"
                yield Finding(path, message, did_you_mean(name, names))


@SETTINGS.rule(
    "SET-013",
    "No option goes with a newer Slurm",
    why="A newer Slurm ignores it without a word. HyperPod's image has Slurm 24.11 and 25.11; "
    "which of them runs can be switched.",
    fix="remove it, or accept the warning while the older version runs",
    source="https://github.com/SchedMD/slurm/blob/slurm-26.05/RELEASE_NOTES.md",
    severity=Severity.WARNING,
)
def _goes_with_newer(resolved: Resolved) -> Iterator[Finding]:
    for path, parameter, value in _known(resolved):
        for option in parameter.options(value):
            if until := parameter.words_until.get(option.partition("=")[0].lower()):
                yield Finding(path, f"Slurm {until} does not know '{option}' any more")


def _somebody_fills_controllers(resolved: Resolved) -> bool:
    """Return whether something that is not slurmpod's own can put files on controllers."""
    lifecycle = resolved.lifecycle
    has_image = any(each.settings.image_id for each in resolved.groups_with(Role.CONTROLLER))
    has_hook = hook_path("controller", "before") in lifecycle.hooks
    return has_image or has_hook or lifecycle.own_scripts is not None


def _at(name: str) -> YamlPath:
    return ("slurm", "settings", name)


def _known(resolved: Resolved) -> Iterator[tuple[YamlPath, Parameter, str]]:
    """Yield the place, the parameter and the value of every setting that Slurm knows."""
    for name, value in resolved.slurm.settings.items():
        parameter = slurm_parameters().get(name.lower())
        if parameter:
            yield _at(name), parameter, value


def _unknown(resolved: Resolved) -> Iterator[tuple[YamlPath, str]]:
    for name in resolved.slurm.settings:
        if name.lower() not in slurm_parameters():
            yield _at(name), name


def _free_names(resolved: Resolved) -> list[str]:
    """Return the parameters that the user may still set."""
    given = {name.lower() for name in resolved.slurm.settings}
    known = slurm_parameters().items()
    return [each.name for name, each in known if each.owner == "user" and name not in given]


def _near(name: str, resolved: Resolved) -> str:
    """Return the parameter that was surely meant; a new one may well resemble another a little."""
    import difflib  # only needed on mistakes

    names = map(str.lower, _free_names(resolved))
    near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=SURELY_MEANT)
    return slurm_parameters()[near[0]].name if near else ""

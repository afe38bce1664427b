"""Rules that the loader and the rule runner report: these have ids, but no function here."""

from slurmpod.problems import Severity
from slurmpod.rules.registry import Area

FORM = Area("ENV", "Form of the file")
RUNNER = Area("RUL", "The rules themselves")

YAML = "https://yaml.org/spec/1.2.2/"
SCHEMA = "environments/schema.json"

FORM.reported_elsewhere(
    "ENV-001",
    "The file can be read and is plain YAML",
    why="A file that cannot be read says nothing. Tags, duplicate keys, endless aliases and deep "
    "nesting are refused, because they hide mistakes or mean something else to every reader.",
    fix="give the path of a UTF-8 file with one YAML document of mappings, lists and plain values",
    source=YAML,
)
FORM.reported_elsewhere(
    "ENV-002",
    "Every required key is there",
    why="Some settings have no sensible default: a name, an account, a Region, a zone, the groups.",
    fix="add the key",
    source=SCHEMA,
)
FORM.reported_elsewhere(
    "ENV-003",
    "Every key is known",
    why="A mistyped key would silently leave the default in force.",
    fix="correct or remove the key",
    source=SCHEMA,
)
FORM.reported_elsewhere(
    "ENV-004",
    "Every value has the right type and is within its limits",
    why="Values are never converted: a number is no text, `yes` is not true. What AWS would refuse "
    "after minutes of deployment is refused at once.",
    fix="write a value of the kind that the message names",
    source=SCHEMA,
)
FORM.reported_elsewhere(
    "ENV-005",
    "Two files never describe the same cluster",
    why="Stacks and cluster are found by name, account and Region. With two files, each deployment "
    "would undo the other.",
    fix="give one of the two environments another name",
    source="https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html",
)
FORM.reported_elsewhere(
    "ENV-006",
    "The base of an environment can be read",
    why="What an environment takes over from the file that it `extends` is part of it. The path "
    "begins at the folder of the file that says `extends`, so that it means the same everywhere.",
    fix="correct the path, or the file that it leads to",
    source="slurmpod/reading/extends.py",
)
FORM.reported_elsewhere(
    "ENV-007",
    "Only what the base has is removed",
    why="An entry with `remove: true` takes the entry of that name, or with that `rule`, out of a "
    "list of the base. If there is none, something is mistyped or the base has changed: something "
    "else is still there.",
    fix="write the name of an entry of the base, or remove this one",
    source="slurmpod/reading/merge.py",
)
FORM.reported_elsewhere(
    "ENV-008",
    "One synthesis has one environment of each name",
    why="Stacks are named after their environment, and a CDK app has one stack of a name.",
    fix="synthesize them one after the other, or give one of the two another name",
    source="https://docs.aws.amazon.com/cdk/v2/guide/stacks.html",
)

RUNNER.reported_elsewhere(
    "RUL-001",
    "Every rule completes",
    why="A rule failed on this environment. That is a mistake in slurmpod, not in the file; the "
    "other rules were still applied.",
    fix="report it with the environment file",
    source="slurmpod/rules/check.py",
)
RUNNER.reported_elsewhere(
    "RUL-002",
    "Only warnings are accepted",
    why="An entry below `suppress` accepts the warnings of one rule. Errors are what AWS or Slurm "
    "refuses: no reason makes them go away.",
    fix="write the id of a rule that warns, as 'slurmpod explain' lists them",
    source="slurmpod/rules/suppressions.py",
)
RUNNER.reported_elsewhere(
    "RUL-003",
    "Every accepted warning is still there",
    why="An entry below `suppress` whose warning has gone would hide the next one without a word.",
    fix="remove the entry",
    source="slurmpod/rules/suppressions.py",
    severity=Severity.WARNING,
)

"""Rules that the loader and the rule runner report: they have ids, but no function here."""

from slurmpod.problems import Severity
from slurmpod.rules.registry import Area

FORM = Area("ENV", "Form of the file")
RUNNER = Area("RUL", "The rules themselves")

YAML = "https://yaml.org/spec/1.2.2/"
SCHEMA = "environments/schema.json"

FORM.reported_elsewhere(
    "ENV-001",
    "The file can be read and is plain YAML",
    why="Tags, duplicate keys, endless aliases and deep nesting are refused, because they hide "
    "mistakes or differ between YAML parsers.",
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
    why="A mistyped key would silently keep the default.",
    fix="correct or remove the key",
    source=SCHEMA,
)
FORM.reported_elsewhere(
    "ENV-004",
    "Every value has the right type and is within its limits",
    why="Values are never converted: a number is not text, `yes` is not true. Values that AWS "
    "would refuse after minutes of deployment are refused at once.",
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
    why="The settings of the file that an environment `extends` are part of it. The path is "
    "relative to the folder of the extending file, so that it means the same everywhere.",
    fix="correct the path, or the base",
    source="slurmpod/reading/extends.py",
)
FORM.reported_elsewhere(
    "ENV-007",
    "Only existing entries of the base are removed",
    why="An entry with `remove: true` takes the entry of that name, or with that `rule`, out of "
    "a list of the base. If the entry does not exist, its name is mistyped or the base has "
    "changed, and another entry may remain.",
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
    why="A rule crashed on this environment. That is a bug in slurmpod, not a mistake in the "
    "file; the other rules were applied.",
    fix="report it with the environment file",
    source="slurmpod/rules/check.py",
)
RUNNER.reported_elsewhere(
    "RUL-002",
    "Only warnings are accepted",
    why="An entry below `suppress` accepts the warnings of one rule. AWS or Slurm refuses "
    "errors, for whatever reason they are accepted.",
    fix="write the id of a rule that warns, as 'slurmpod explain' lists them",
    source="slurmpod/rules/suppressions.py",
)
RUNNER.reported_elsewhere(
    "RUL-003",
    "Every accepted warning still applies",
    why="An entry below `suppress` without a warning would silently hide the next one.",
    fix="remove the entry",
    source="slurmpod/rules/suppressions.py",
    severity=Severity.WARNING,
)

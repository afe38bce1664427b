"""Rules for the roles of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from slurmpod.environment.cluster import Role
from slurmpod.environment.identity import MANAGED_POLICIES_OF_A_ROLE
from slurmpod.environment.names import account_of_arn
from slurmpod.permissions import Grant, node_roles
from slurmpod.permissions.permission import WHERE_PEOPLE_WORK
from slurmpod.problems import Severity, YamlPath
from slurmpod.reading.policy_files import RULE
from slurmpod.resolve import Resolved
from slurmpod.rules.lacking_actions import lacking_actions, needed_by_nodes
from slurmpod.rules.registry import PRIVATE_SUBNETS, Area, Finding
from slurmpod.rules.shared_findings import values_listed_twice
from slurmpod.rules.sources import IAM_QUOTAS

IDENTITY = Area("IDN", "Roles of the nodes", reads=("identity",))

IAM = "https://docs.aws.amazon.com/IAM/latest/UserGuide/"
GRAMMAR = f"{IAM}reference_policies_grammar.html"
BOUNDARIES = f"{IAM}access_policies_boundaries.html"
EVALUATION = f"{IAM}reference_policies_evaluation-logic.html"
PASSING_ROLES = f"{IAM}id_roles_use_passrole.html"
LEAST_PRIVILEGE = f"{IAM}best-practices.html#grant-least-privilege"
ROLE_OF_A_GROUP = (
    "https://docs.aws.amazon.com/sagemaker/latest/APIReference/"
    "API_ClusterInstanceGroupSpecification.html"
)

SECTION = ("identity",)
BOUNDARY = (*SECTION, "permissions_boundary")
EXISTING = (*SECTION, "existing")

IDENTITY.reported_elsewhere(
    RULE,
    "Copies of policies can be read and are policies",
    why="The document of a policy, as stored in IAM, is needed to know what it allows.",
    fix="save the document of the policy as JSON: UTF-8, with Version and Statement",
    source=GRAMMAR,
)


@IDENTITY.rule(
    "IDN-002",
    "The permissions boundary allows what nodes need",
    why="A role is allowed what both its policies and its boundary allow. Without these actions "
    "nodes cannot be created, are not set up, or cannot be reached.",
    fix="allow them in the boundary ('slurmpod permissions' prints all that nodes need), and renew "
    "the copy",
    source=BOUNDARIES,
    reads=("access", "account", "identity", "lifecycle", "name", "region", *PRIVATE_SUBNETS),
)
def _boundary_leaves_room(resolved: Resolved) -> Iterator[Finding]:
    files = _copies_of_boundary(resolved)
    if not files or resolved.identity.existing:
        return
    yield from _boundary_findings(resolved, files, needed_by_nodes(resolved))


@IDENTITY.rule(
    "IDN-003",
    "The permissions boundary allows what deployments need",
    why="All roles of an environment get the boundary, because it is required of everyone who may "
    "create roles. So do those of the functions that fill the bucket of lifecycle scripts, empty "
    "the VPC's default security group, set up logs and count nodes, that of Grafana, and those of "
    "services.",
    fix="allow them in the boundary, and renew the copy",
    source=BOUNDARIES,
    reads=(
        *("account", "identity", "lifecycle", "monitoring", "name", "network", "region"),
        *("services", "storage"),
    ),
)
def _boundary_leaves_room_for_functions(resolved: Resolved) -> Iterator[Finding]:
    files = _copies_of_boundary(resolved)
    if not files:
        return
    from slurmpod.permissions.functions import grants_of_functions  # only needed here
    from slurmpod.permissions.services import grants_of_services

    needed = [*grants_of_functions(resolved), *grants_of_services(resolved)]
    yield from _boundary_findings(resolved, files, needed)


def _copies_of_boundary(resolved: Resolved) -> tuple[str, ...]:
    boundary = resolved.identity.permissions_boundary
    return (boundary.policy_file,) if boundary and boundary.policy_file else ()


def _boundary_findings(
    resolved: Resolved, files: Sequence[str], needed: Iterable[Grant]
) -> Iterator[Finding]:
    for message in lacking_actions(needed, files, resolved):
        yield Finding((*BOUNDARY, "policy_file"), message)


@IDENTITY.rule(
    "IDN-004",
    "Roles of your own suffice",
    why="Without these actions nodes cannot be created, are not set up, or cannot be reached.",
    fix="allow them to the role ('slurmpod permissions' prints all that nodes need), or name a "
    "copy of the policy that allows them already",
    source=EVALUATION,
    reads=("access", "account", "identity", "lifecycle", "name", "region", *PRIVATE_SUBNETS),
)
def _existing_roles_suffice(resolved: Resolved) -> Iterator[Finding]:
    existing = resolved.identity.existing
    if not existing:
        return
    for message in lacking_actions(needed_by_nodes(resolved), existing.policy_files, resolved):
        yield Finding((*EXISTING, "policy_files"), message, at_key=True)


@IDENTITY.rule(
    "IDN-005",
    "Roles and policies are those of the environment's account",
    why="SageMaker takes only roles of the same account, and a role takes only policies of the "
    "same account and of AWS.",
    fix="name a role or policy of the environment's account",
    source=PASSING_ROLES,
    reads=("account", "identity"),
)
def _own_account(resolved: Resolved) -> Iterator[Finding]:
    for path, arn in _named_arns(resolved):
        account = account_of_arn(arn)
        if account not in {resolved.account, "aws"}:
            yield Finding(path, f"it belongs to the account {account}, not to {resolved.account}")


def _named_arns(resolved: Resolved) -> Iterator[tuple[YamlPath, str]]:
    identity = resolved.identity
    for role in ("controller", "login", "worker") if identity.existing else ():
        if arn := getattr(identity.existing, role):
            yield (*EXISTING, role), arn
    if identity.permissions_boundary:
        yield (*BOUNDARY, "policy_arn"), identity.permissions_boundary.policy_arn
    for number, arn in enumerate(identity.policy_arns):
        yield (*SECTION, "policy_arns", number), arn


@IDENTITY.rule(
    "IDN-006",
    "Settings of new roles come with new roles",
    why="With roles of your own, slurmpod makes none for nodes, and changes none.",
    fix="remove the key, and change your own roles instead",
    source=ROLE_OF_A_GROUP,
    severity=Severity.WARNING,
)
def _about_new_roles(resolved: Resolved) -> Iterator[Finding]:
    identity = resolved.identity
    if identity.existing is None:
        return
    for key in ("roles", "policy_arns"):
        if key in identity.model_fields_set:
            yield Finding((*SECTION, key), "no role of nodes is made here", at_key=True)


@IDENTITY.rule(
    "IDN-007",
    "Roles of your own are carried by nodes",
    why="A role that no group carries is a mistake in the file, or a leftover.",
    fix="remove the key, or add the group",
    source=ROLE_OF_A_GROUP,
    severity=Severity.WARNING,
    reads=("cluster", "identity"),
)
def _roles_have_groups(resolved: Resolved) -> Iterator[Finding]:
    existing = resolved.identity.existing
    roles_of_groups = {group.role.value for group in resolved.groups}
    for role in ("login", "worker"):
        if existing and getattr(existing, role) and role not in roles_of_groups:
            yield Finding((*EXISTING, role), f"there is no {role} group", at_key=True)


@IDENTITY.rule(
    "IDN-008",
    "A role takes all its policies",
    why=f"IAM attaches {MANAGED_POLICIES_OF_A_ROLE} managed policies to a role, unless the account "
    "has a higher quota (20 at most). A boundary does not count.",
    fix="put several policies into one, or suppress it if the account's quota is higher",
    source=IAM_QUOTAS,
    severity=Severity.WARNING,
)
def _policies_are_not_too_many(resolved: Resolved) -> Iterator[Finding]:
    count = len(resolved.identity.policy_arns)
    if count > MANAGED_POLICIES_OF_A_ROLE:
        message = f"{count} policies, and a role takes {MANAGED_POLICIES_OF_A_ROLE}"
        yield Finding((*SECTION, "policy_arns"), message, at_key=True)


@IDENTITY.rule(
    "IDN-009",
    "Further policies are named once",
    why="Attached twice, a policy allows no more.",
    fix="remove the entry",
    source=IAM_QUOTAS,
    severity=Severity.WARNING,
)
def _policies_are_named_once(resolved: Resolved) -> Iterator[Finding]:
    yield from values_listed_twice(resolved.identity.policy_arns, *SECTION, "policy_arns")


@IDENTITY.rule(
    "IDN-010",
    "The database's password is for controllers only",
    why="Anyone who runs something on a node has the permissions of its role. With a role that "
    "controllers share with other nodes, every job can read the password of the accounting "
    "database, and change or delete all records with it.",
    fix="write 'roles: per_role' under identity, or name another role for login and worker groups "
    "under identity.existing, or accept that users can do this",
    source=LEAST_PRIVILEGE,
    severity=Severity.WARNING,
    reads=("cluster", "identity", "slurm"),
)
def _jobs_have_no_password(resolved: Resolved) -> Iterator[Finding]:
    if resolved.database is None:
        return
    for roles in node_roles(resolved).values():
        if Role.CONTROLLER in roles and roles & WHERE_PEOPLE_WORK:
            message = "jobs can read its password: controllers share their role"
            yield Finding(resolved.database.path, message, at_key=True)


@IDENTITY.rule(
    "IDN-011",
    "Users of nodes have no wide permissions in the account",
    why="Anyone who runs something on a node has the permissions of its role. These policies of "
    "AWS give every user of the cluster far more than it needs.",
    fix="attach a policy that allows what jobs need, and no more",
    source=LEAST_PRIVILEGE,
    severity=Severity.WARNING,
)
def _nodes_rule_nothing(resolved: Resolved) -> Iterator[Finding]:
    if not resolved.identity.policy_arns:
        return
    from slurmpod.permissions.powers import OF_AWS  # only needed where policies are named

    for index, arn in enumerate(resolved.identity.policy_arns):
        name = arn.rpartition("/")[2]
        if account_of_arn(arn) == "aws" and name in OF_AWS:
            message = f"with {name} every user of a node can {OF_AWS[name]}"
            yield Finding((*SECTION, "policy_arns", index), message)


@IDENTITY.rule(
    "IDN-012",
    "Roles of your own give users no more than the cluster needs",
    why="Anyone who runs something on a node has the permissions of its role: for the whole "
    "account, if its policies say so.",
    fix="narrow the statement to what jobs need, or write a condition; suppress it if every user "
    "of the cluster may do this",
    source=LEAST_PRIVILEGE,
    severity=Severity.WARNING,
    reads=("account", "identity", "name", "region"),
)
def _own_roles_are_narrow(resolved: Resolved) -> Iterator[Finding]:
    files = resolved.identity.existing.policy_files if resolved.identity.existing else ()
    documents = resolved.policies
    if not files or any(file not in documents for file in files):
        return
    from embedded_aws.iam import policy_of  # only needed where policies are named
    from slurmpod.permissions.powers import powers_of

    policies = [policy_of(file, documents[file]) for file in files]
    for power in powers_of(policies, resolved):
        message = f"every user of a node can {power.what} ({power.action})"
        yield Finding((*EXISTING, "policy_files"), message, at_key=True)

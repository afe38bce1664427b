"""Rules for the notebook instance: what it would lose, let out, or never stop."""

from __future__ import annotations

from collections.abc import Iterator

from slurmpod.environment.catalog import OFFERINGS_AS_OF, offered_zone_ids
from slurmpod.environment.service_types import SERVICE_TYPES_AS_OF, notebook_types
from slurmpod.environment.suggestion import did_you_mean
from slurmpod.problems import Severity
from slurmpod.resolve import Resolved
from slurmpod.rules.groups import GUIDE
from slurmpod.rules.registry import Area, Finding
from slurmpod.rules.sources import DELETION_POLICY

NOTEBOOKS = Area("NOT", "A notebook instance", reads=("services",))

INTERNET = f"{GUIDE}appendix-notebook-and-internet-access.html"
ROOT = f"{GUIDE}nbi-root-access.html"
TYPES = "https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_CreateNotebookInstance.html"


@NOTEBOOKS.rule(
    "NOT-001",
    "The type is one that notebook instances are known to have",
    why="SageMaker refuses other types after everything else was created. The list is from "
    f"{SERVICE_TYPES_AS_OF}.",
    fix="choose a type such as ml.t3.medium; suppress it if AWS has added it",
    source=TYPES,
    severity=Severity.WARNING,
)
def _type_is_known(resolved: Resolved) -> Iterator[Finding]:
    notebook = resolved.notebook
    if notebook and (name := notebook.settings.instance_type) not in notebook_types():
        message = f"notebook instances had no {name} (as of {SERVICE_TYPES_AS_OF})"
        fix = did_you_mean(name, notebook_types())
        yield Finding((*notebook.path, "instance_type"), message, fix)


@NOTEBOOKS.rule(
    "NOT-002",
    "An accelerated type is offered in the Region",
    why=f"Each accelerated type exists in some Regions only. The list is from {OFFERINGS_AS_OF}.",
    fix="choose a type that the Region has; suppress it if AWS has added it since",
    source="slurmpod/data/accelerator_zone_ids.json",
    severity=Severity.WARNING,
    reads=("region", "services"),
)
def _type_is_in_the_region(resolved: Resolved) -> Iterator[Finding]:
    notebook = resolved.notebook
    regions = offered_zone_ids().get(notebook.settings.instance_type) if notebook else None
    if notebook and regions and resolved.region not in regions:
        name = notebook.settings.instance_type
        message = f"EC2 offers no {name} in {resolved.region} (as of {OFFERINGS_AS_OF})"
        yield Finding((*notebook.path, "instance_type"), message)


@NOTEBOOKS.rule(
    "NOT-003",
    "A closed network has no notebook with a way around it",
    why="With direct_internet, traffic to the internet goes through a network of SageMaker's: what "
    "the closed network keeps in, the notebook lets out.",
    fix="remove 'direct_internet: true', or 'closed: true'",
    source=INTERNET,
    reads=("network", "services"),
)
def _closed_stays_closed(resolved: Resolved) -> Iterator[Finding]:
    notebook = resolved.notebook
    if notebook and resolved.network.closed and notebook.settings.direct_internet:
        yield Finding((*notebook.path, "direct_internet"), "the network is closed")


@NOTEBOOKS.rule(
    "NOT-004",
    "Root on the notebook is not root on the file systems",
    why="A user who becomes root there reads all users' files, and with read_write changes them. "
    "Mounting read-only does not bind root, who can mount again. FSx for Lustre takes the power of "
    "root away with root_squash; FSx for OpenZFS has none here.",
    fix="remove 'root_access: true', write 'shared_storage: none', or give the Lustre file systems "
    "a root_squash",
    source=ROOT,
    severity=Severity.WARNING,
    reads=("services", "storage"),
)
def _root_is_squashed(resolved: Resolved) -> Iterator[Finding]:
    notebook = resolved.notebook
    if notebook is None or not notebook.settings.root_access:
        return
    if notebook.settings.shared_storage == "none":
        return
    if resolved.openzfs or not all(each.settings.root_squash for each in resolved.lustre):
        message = "root on the notebook is root on the file systems of the cluster"
        yield Finding((*notebook.path, "root_access"), message)


@NOTEBOOKS.rule(
    "NOT-005",
    "A protected environment keeps the files of its notebook",
    why="`protected` promises that nothing is lost by one command; `on_delete: delete` deletes the "
    "instance with its volume.",
    fix="write 'on_delete: retain', or remove the protection",
    source=DELETION_POLICY,
    reads=("protected", "services"),
)
def _protected_keeps_files(resolved: Resolved) -> Iterator[Finding]:
    notebook = resolved.notebook
    if notebook and resolved.protected and notebook.settings.on_delete == "delete":
        message = "a protected environment cannot delete notebooks with their stack"
        yield Finding((*notebook.path, "on_delete"), message)


@NOTEBOOKS.rule(
    "NOT-006",
    "The files of a notebook outlive its stack",
    why="Deleting the stack deletes the instance with its volume, and all notebooks on it.",
    fix="write retain; where the files can be lost, accept the warning with 'suppress'",
    source=DELETION_POLICY,
    severity=Severity.WARNING,
    reads=("protected", "services"),
)
def _files_outlive_the_stack(resolved: Resolved) -> Iterator[Finding]:
    notebook = resolved.notebook
    if notebook and not resolved.protected and notebook.settings.on_delete == "delete":
        yield Finding((*notebook.path, "on_delete"), "all notebooks are deleted with the stack")


@NOTEBOOKS.rule(
    "NOT-007",
    "The notebook can stop itself",
    why="When idle, it asks SageMaker to stop it. Without NAT gateways, an endpoint for "
    "sagemaker.api or its own internet access it cannot reach SageMaker, and runs, and costs, "
    "forever.",
    fix="add sagemaker.api to network.interface_endpoints, or write 'closed: true' or 'nat: one'; "
    "suppress it if you add routes of your own",
    source=INTERNET,
    severity=Severity.WARNING,
    reads=("monitoring", "network", "services"),
)
def _can_stop_itself(resolved: Resolved) -> Iterator[Finding]:
    notebook, network = resolved.notebook, resolved.network
    if notebook is None or network.existing or notebook.settings.direct_internet:
        return
    if not network.nat_gateways and "sagemaker.api" not in network.interface_endpoints:
        yield Finding(notebook.path, "it cannot reach SageMaker to stop itself", at_key=True)

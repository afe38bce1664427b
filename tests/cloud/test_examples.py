"""All environments of this repository together through their life: deployed, unchanged, destroyed.

The real CDK CLI synthesizes them with one app, and compares them with what was deployed. One
embedded AWS has what environments name as the user's own: networks, keys, buckets. Its API is asked
to make and to delete the stacks: test_embedded_aws.py has the CDK CLI do that. Each test does what
it shows, unless an earlier one did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.server import EmbeddedAws
from embedded_aws.templates.template import read_template
from slurmpod.rehearsal.bootstrap import STACK, bootstrap
from slurmpod.rehearsal.existing_resources import make_existing_resources
from tests.cloud.every_environment import Account, Step, environments, regions
from tests.environment_files import FILES

UNUSED_REGIONS = ("ca-west-1", "sa-east-1")

Done = Callable[[str], Step]
"""What was done to the environment of a name: when somebody first asks for it."""


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    (number,) = {resolved.account for resolved in environments().values()}
    with EmbeddedAws(account=number, region=regions()[0]) as aws:
        aws.start(CloudOnlyPlatform())
        for resolved in environments().values():
            make_existing_resources(aws.clients(resolved.region), resolved)
        yield Account(aws, tmp_path_factory.mktemp("assembly"))


@pytest.fixture(scope="module")
def bootstrapped(account: Account) -> Step:
    places = (f"aws://{account.aws.account}/{each}" for each in regions())
    return account.cdk("bootstrap", *places, "--app", "")


@pytest.fixture(scope="module")
def synthesized(account: Account) -> Step:
    return account.cdk("synth", "--quiet", "-c", "env=all", "--output", str(account.assembly))


@pytest.fixture(scope="module")
def deployed(account: Account, bootstrapped: Step, synthesized: Step) -> Done:
    return cache(account.deploy)


@pytest.fixture(scope="module")
def compared(account: Account, deployed: Done) -> Step:
    """Look for differences, once everything is deployed."""
    for name in FILES:
        deployed(name)
    return account.cdk("diff", "--all", "--app", str(account.assembly), "--fail")


@pytest.fixture(scope="module")
def destroyed(account: Account, compared: Step) -> Done:
    """Destroy an environment, but the network that kept file systems stand on."""

    @cache
    def destroy(name: str) -> Step:
        account.unprotect(name)
        return account.destroy(name, above_the_network(name))

    return destroy


@pytest.fixture(scope="module")
def blocked(account: Account, destroyed: Done) -> Step:
    """Destroy a network as well, too early."""
    destroyed("dev")
    return account.destroy("dev", ["dev-network"])


@pytest.fixture(scope="module")
def without_data(account: Account, destroyed: Done, blocked: Step) -> Account:
    """Delete what was kept, once all that used it is destroyed."""
    for name in FILES:
        destroyed(name)
    account.delete_data()
    return account


def above_the_network(name: str) -> list[str]:
    """Return all stacks but the one that the kept file systems stand on, the last one first."""
    stacks = environments()[name].stacks
    return [each for each in reversed(stacks.in_order()) if each != stacks.network]


def test_the_cdk_bootstraps_all_regions(bootstrapped: Step) -> None:
    assert bootstrapped.succeeded, bootstrapped.said


def test_the_cdk_synthesizes_all_environments_with_one_app(synthesized: Step) -> None:
    assert synthesized.succeeded, synthesized.said


@pytest.mark.usefixtures("bootstrapped")
def test_a_rehearsal_bootstraps_its_account_as_the_command_does(account: Account) -> None:
    here = next(each for each in UNUSED_REGIONS if each not in regions())
    bootstrap(account.aws.clients(here).service("cloudformation"))
    commands, ours = (toolkit(account, region) for region in (regions()[0], here))
    assert ours == commands


def toolkit(account: Account, region: str) -> tuple[Any, Any, Any]:
    """Return the template, the parameters and the resources of the stack of a bootstrap."""
    cloudformation = account.aws.clients(region).service("cloudformation")
    (stack,) = cloudformation.describe_stacks(StackName=STACK)["Stacks"]
    parameters = {each["ParameterKey"]: each["ParameterValue"] for each in stack["Parameters"]}
    listed = cloudformation.describe_stack_resources(StackName=STACK)["StackResources"]
    resources = [(each["LogicalResourceId"], each["ResourceStatus"]) for each in listed]
    template = read_template(cloudformation.get_template(StackName=STACK)["TemplateBody"])
    return template, parameters, sorted(resources)


@pytest.mark.parametrize("name", FILES)
def test_every_stack_is_deployed(deployed: Done, name: str) -> None:
    assert deployed(name).succeeded, deployed(name).said
    made = dict.fromkeys(environments()[name].stacks.in_order(), "CREATE_COMPLETE")
    assert deployed(name).stacks == made


def test_nothing_differs_from_what_was_deployed(compared: Step) -> None:
    assert compared.succeeded, compared.said
    assert "Number of stacks with differences: 0" in compared.said


@pytest.mark.parametrize("name", FILES)
def test_what_stands_on_the_network_is_destroyed_first(destroyed: Done, name: str) -> None:
    assert destroyed(name).succeeded, destroyed(name).said
    network = {environments()[name].stacks.network} & set(environments()[name].stacks.in_order())
    assert destroyed(name).stacks.keys() == network


def test_data_does_not_end_with_its_stack(blocked: Step) -> None:
    assert not blocked.succeeded
    assert blocked.stacks == {"dev-network": "DELETE_FAILED"}


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_left_once_the_data_was_deleted(without_data: Account, name: str) -> None:
    assert without_data.destroy(name, without_data.stacks(name)).stacks == {}

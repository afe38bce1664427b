from __future__ import annotations

import json
from typing import Any

import pytest

from slurmpod_lifecycle.identify import Identify, addresses_in
from slurmpod_lifecycle.node import RESOURCE_CONFIG, Instance, instances_of, resource_config_path
from slurmpod_lifecycle.settings import Role
from slurmpod_lifecycle.step import NotYet, StepFailed
from tests.pure.lifecycle.fakes import ADDRESSES, FakeMachine, node, resource_config, settings


def ip_output(*addresses: str) -> str:
    """Return what `ip -json -4 address show` prints: the loopback, and one interface for each."""
    loopback = {"ifname": "lo", "addr_info": [{"local": "127.0.0.1", "scope": "host"}]}
    interfaces = [
        {"ifname": f"ens{index}", "addr_info": [{"local": address, "scope": "global"}]}
        for index, address in enumerate(addresses)
    ]
    return json.dumps([loopback, *interfaces, {"ifname": "down", "addr_info": []}, {}])


def identify(config: dict[str, Any] | str | None, *own_addresses: str) -> Identify:
    machine = FakeMachine()
    machine.reply("ip -json", ip_output(*own_addresses))
    if config is not None:
        text = config if isinstance(config, str) else json.dumps(config)
        machine.files[RESOURCE_CONFIG] = text
    return Identify(settings(), machine, RESOURCE_CONFIG)


class TestIdentify:
    @pytest.mark.parametrize("role", Role)
    def test_a_node_is_the_instance_with_its_address(self, role: Role) -> None:
        step = identify(resource_config(), ADDRESSES[role])
        step.apply()
        assert step.node is not None
        assert step.node.role is role
        assert step.node.instance.id == f"i-{role.value}"
        assert step.node.name == "ip-" + ADDRESSES[role].replace(".", "-")

    def test_one_of_many_addresses_is_enough(self) -> None:
        own = ("10.0.9.1", ADDRESSES[Role.WORKER], "10.0.9.2")
        step = identify(resource_config(), *own)
        assert step.apply() == "worker ip-10-0-128-20, instance i-worker of group hands"

    def test_the_address_of_an_agent_is_not_that_of_the_node(self) -> None:
        with pytest.raises(NotYet, match=r"this node has 172\.16\.0\.4"):
            identify(resource_config(), "172.16.0.4").apply()

    def test_a_node_that_is_not_listed_waits_and_says_what_it_looked_for(self) -> None:
        with pytest.raises(NotYet) as failure:
            identify(resource_config(), "10.0.128.99").apply()
        assert failure.value.reason == (
            "none of the 3 instances in /opt/ml/config/resource_config.json has this node's"
            " CustomerIpAddress (this node has 10.0.128.99)"
        )

    def test_a_node_without_network_is_never_taken_for_another(self) -> None:
        config = resource_config()
        config["InstanceGroups"][0]["Instances"][0]["CustomerIpAddress"] = "127.0.0.1"
        with pytest.raises(NotYet, match="this node has no address at all"):
            identify(config).apply()

    def test_two_instances_with_its_addresses_are_refused(self) -> None:
        with pytest.raises(StepFailed, match="to head/i-controller and door/i-login") as failure:
            identify(resource_config(), ADDRESSES[Role.CONTROLLER], ADDRESSES[Role.LOGIN]).apply()
        assert not isinstance(failure.value, NotYet)

    def test_a_group_without_role_is_refused_with_those_that_have_one(self) -> None:
        config = resource_config()
        config["InstanceGroups"][2]["Name"] = "new-group"
        with pytest.raises(StepFailed, match=r"'new-group' is not in .* door, hands, head"):
            identify(config, ADDRESSES[Role.WORKER]).apply()

    def test_a_file_that_is_missing_is_waited_for(self) -> None:
        with pytest.raises(NotYet, match=r"resource_config\.json does not exist"):
            identify(None, ADDRESSES[Role.WORKER]).apply()

    @pytest.mark.parametrize(
        "text", ["", '{"InstanceGr', "[]", '{"InstanceGroups": [{"Instances": [{}]}]}', "null"]
    )
    def test_half_a_file_is_waited_for(self, text: str) -> None:
        with pytest.raises(NotYet):
            identify(text, ADDRESSES[Role.WORKER]).apply()


class TestResourceConfig:
    @pytest.mark.parametrize("instances", [{"Instances": None}, {"Instances": []}, {}])
    def test_a_group_may_have_no_instances(self, instances: dict[str, Any]) -> None:
        config = resource_config()
        config["InstanceGroups"].insert(0, {"Name": "empty", **instances})
        assert len(instances_of(config)) == 3

    @pytest.mark.parametrize("groups", [{"InstanceGroups": None}, {"InstanceGroups": []}, {}])
    def test_there_may_be_no_groups(self, groups: dict[str, Any]) -> None:
        assert instances_of(groups) == ()

    def test_an_instance_without_address_is_not_there_yet(self) -> None:
        group = {"Name": "g", "Instances": [{"InstanceId": "i-1"}, {"CustomerIpAddress": None}]}
        assert instances_of({"InstanceGroups": [group]}) == ()

    def test_only_the_address_and_the_group_are_needed(self) -> None:
        group = {"Name": "g", "Instances": [{"CustomerIpAddress": "10.0.0.1"}]}
        assert instances_of({"InstanceGroups": [group]}) == (Instance("g", "", "", "10.0.0.1"),)

    def test_the_platform_may_say_where_the_file_is(self) -> None:
        assert resource_config_path({}) == RESOURCE_CONFIG
        assert resource_config_path({"SAGEMAKER_RESOURCE_CONFIG_PATH": "/x"}) == "/x"


class TestControllerAddresses:
    def test_are_those_of_the_controllers_group(self) -> None:
        assert node(Role.WORKER).controller_addresses() == (ADDRESSES[Role.CONTROLLER],)

    def test_are_waited_for(self) -> None:
        worker = node(Role.WORKER)
        config = resource_config()
        config["InstanceGroups"][0]["Instances"] = None
        worker.machine.write(RESOURCE_CONFIG, json.dumps(config))
        with pytest.raises(NotYet, match="lists 0 of 1 instances of the controller's group"):
            worker.controller_addresses()


def test_own_addresses_are_those_that_others_can_reach() -> None:
    assert addresses_in(ip_output("10.0.0.1", "10.0.0.2")) == {"10.0.0.1", "10.0.0.2"}

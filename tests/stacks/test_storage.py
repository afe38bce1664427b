from __future__ import annotations

from typing import TYPE_CHECKING

from tests.stacks.synthesis import of_type, only

if TYPE_CHECKING:
    from tests.stacks.synthesis import Synthesized

FILE_SYSTEM = "AWS::FSx::FileSystem"


def test_the_file_system_is_what_was_resolved(example: Synthesized) -> None:
    properties = only(example.templates["storage"], FILE_SYSTEM)
    resolved = example.resolved.file_system
    assert properties["FileSystemType"] == "LUSTRE"
    assert properties["FileSystemTypeVersion"] == "2.15"
    assert properties["StorageCapacity"] == resolved.capacity_gib
    assert properties["LustreConfiguration"] == {
        "DeploymentType": "PERSISTENT_2",
        "PerUnitStorageThroughput": resolved.throughput_mbps_per_tib,
        "DataCompressionType": resolved.compression,
        "MetadataConfiguration": {"Mode": "AUTOMATIC"},
    }


def test_the_file_system_lies_with_the_nodes(example: Synthesized) -> None:
    properties = only(example.templates["storage"], FILE_SYSTEM)
    vpc_config = only(example.templates["cluster"], "AWS::SageMaker::Cluster")["VpcConfig"]
    assert properties["SubnetIds"] == vpc_config["Subnets"]
    assert properties["SecurityGroupIds"] == vpc_config["SecurityGroupIds"]


def test_data_outlives_the_stack_but_not_a_creation_that_failed(example: Synthesized) -> None:
    (resource,) = of_type(example.templates["storage"], FILE_SYSTEM).values()
    assert resource["DeletionPolicy"] == "RetainExceptOnCreate"
    assert resource["UpdateReplacePolicy"] == "Retain"


def test_the_file_system_waits_for_the_rules_of_its_security_group(example: Synthesized) -> None:
    rules = of_type(example.templates["network"], "AWS::EC2::SecurityGroupIngress")
    needed = {stack.id for stack in example.stacks["storage"].dependencies}
    assert rules
    assert example.resolved.stacks.network in needed

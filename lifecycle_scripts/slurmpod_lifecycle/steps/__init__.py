"""The steps of all nodes, one file each."""

from __future__ import annotations

from importlib import import_module

from slurmpod_lifecycle.hooks import with_hooks
from slurmpod_lifecycle.node import Node, NodeStep

MODULES = """
    image_facts
    unattended_upgrades
    scratch
    efa_client
    mount_fsx
    mount_s3
    user_folder
    users
    logins
    sssd
    homes
    ssh_between_nodes
    job_bound_ssh
    bar_daemons
    keep_daemons
    shared_state
    accounting
    database_password
    records_backup
    slurm_settings
    containers
    topology
    slurmctld
    associations
    partitions
    shared_configuration
    returned_nodes
    active_checks
    container_folders
    docker
    health_checks
    neuron
    slurmd
    container_option
    metrics
    motd
    log_rotation
    switched_off
    self_check
    back_in_service
    takes_jobs
"""
"""The module of each step, in the order in which independent ones start."""


def _step_in(name: str) -> type[NodeStep]:
    """Return the one step that a module of this folder defines."""
    module = import_module(f"{__name__}.{name}")
    own = (each for each in vars(module).values() if isinstance(each, type))
    (step,) = (
        each for each in own if issubclass(each, NodeStep) and each.__module__ == module.__name__
    )
    return step


STEPS = tuple(map(_step_in, MODULES.split()))


def steps_for(node: Node) -> tuple[NodeStep, ...]:
    """Return the steps of this node, ready to run, with the user's own scripts around them."""
    return with_hooks(node, [step(node) for step in STEPS if step.applies_to(node)])

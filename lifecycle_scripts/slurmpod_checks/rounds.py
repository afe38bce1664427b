"""One round: reads the results of finished checks, acts on faults and starts what is due."""

from __future__ import annotations

import json
from dataclasses import replace

from slurmpod_checks.act import judged, settle
from slurmpod_checks.choose import View, due, in_the_way
from slurmpod_checks.harvest import Instances, harvested
from slurmpod_checks.records import CheckJob, State, kind_of
from slurmpod_checks.remarks import remarked
from slurmpod_checks.settings import ChecksSettings
from slurmpod_checks.slurm import Slurm, SlurmFailed


def run_round(
    slurm: Slurm, settings: ChecksSettings, state: State, instances: Instances, now: int
) -> State:
    """Return the state after a round; raises SlurmFailed if Slurm does not answer at all."""
    nodes = {node.name: node for node in slurm.nodes()}
    jobs = slurm.jobs()
    state = harvested(state, jobs, instances, now)
    known = {name: record for name, record in state.nodes.items() if name in nodes}
    state = replace(state, nodes=remarked(known, settings.least_share), at=now)
    view = View(settings, state, nodes, jobs, instances, now)
    view = settle(judged(view), slurm)
    slurm.cancel(*in_the_way(view))
    return _begun(view, slurm)


def _begun(view: View, slurm: Slurm) -> State:
    """Submit the checks that are due, up to the first one that Slurm rejects."""
    jobs, trouble = dict(view.state.jobs), ""
    for nodes in due(view):
        try:
            jobs[_submitted(view, slurm, nodes)] = CheckJob(nodes, view.now)
        except SlurmFailed as error:  # noqa: PERF203  # its answer decides what is next
            trouble = str(error)
            break
    return replace(view.state, jobs=jobs, trouble=trouble)


def _submitted(view: View, slurm: Slurm, nodes: tuple[str, ...]) -> str:
    """Submit a check to the first partition that accepts it; raises SlurmFailed if none does."""
    settings = view.settings
    group = view.instances[nodes[0]].group
    order = {
        "kinds": settings.of(kind_of(nodes)),
        "accelerator": settings.groups[group],
        "all_reduce_bound": settings.all_reduce_bounds.get(group, 0.0),
        "ring_bound": settings.ring_bounds.get(group, 0.0),
        "least_share": settings.least_share,
        "dcgm_level": settings.dcgm_level,
        "scratch": settings.scratch,
        "shared_folders": settings.shared_folders,
        "nodes": nodes,
    }
    refusal = SlurmFailed(f"{', '.join(nodes)}: in no partition")
    common = frozenset.intersection(*(view.nodes[name].partitions for name in nodes))
    for partition in sorted(common):
        try:
            return slurm.submit(nodes, partition, settings.minutes, json.dumps(order))
        except SlurmFailed as error:  # noqa: PERF203  # its answer decides what is next
            refusal = error
    raise refusal

"""Tests that only `make test-all` runs: further cases of what another test proves.

Every contributor runs `make test`, so it proves each kind of thing once and takes minutes. No
change is merged without `make test-all`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tools.marked_part import with_part

MARK = "further"
"""The mark of these tests: `make test` runs `pytest -m "not further"`."""

BEGIN = "<!-- further cases: generated from tests/further_cases.py by `make golden` -->"
END = "<!-- end of further cases -->"


@dataclass(frozen=True)
class Further:
    """Tests by the prefix of their node ids below `tests/`, except for `proof` itself."""

    tests: str
    what: str
    """The further cases, as listed in docs/testing.md."""
    proof: str
    """The test, class or file that `make test` runs instead, by its node id."""


_REHEARSED = "nodes/test_rehearse.py::TestWhatIsShown"
_STRUCK = f"{_REHEARSED}::test_a_job_of_the_users_own_went_on_after_a_fault"
_AT_REST = "nodes/test_rehearse.py::TestFaults::test_one_strikes_a_cluster_at_rest"
_RECIPES = "nodes/test_recipes.py"
_TRAINED = f"{_RECIPES}::test_losses_of_data_parallel_training_are_those_of_one_process"
_RESUME = "nodes/test_resume.py"
_CHECKPOINTS = "nodes/test_checkpoints.py"
_RESUMED = f"{_CHECKPOINTS}::test_another_number_of_processes_goes_on_with_the_same_data"
_SYNTHESIZED = "templates/test_golden.py"

_DEPLOYED = "cloud/test_embedded_aws.py::test_the_cdk_deploys_a_whole_environment"

FURTHER: Sequence[Further] = (
    Further(
        "cloud/test_examples.py",
        "all environments of this repository, deployed, compared by the CDK, and destroyed",
        _DEPLOYED,
    ),
    Further(
        "cloud/test_embedded_aws.py::TestChangesAndEnd",
        "changes, failures and the end of an environment, by the CDK's command line",
        "cloud/test_embedded_templates.py",
    ),
    Further(
        "cloud/test_library_page.py::test_single_constructs",
        "single constructs of the library, deployed",
        "cloud/test_library_page.py::test_an_environment_in_a_vpc_of_the_app_is_deployed_and_found",
    ),
    Further(
        "cloud/test_embedded_closed.py",
        "a closed network with all kinds of storage, deployed and changed",
        _DEPLOYED,
    ),
    Further(
        "nodes/faults/test_lost_nodes.py",
        "each other fault that removes a node",
        _STRUCK,
    ),
    Further(
        "nodes/faults/test_services_and_storage.py",
        "each other fault of a service or of storage",
        _AT_REST,
    ),
    Further(
        "nodes/faults/test_customer.py",
        "faults in customer mode: those that need it, and some that differ there",
        _STRUCK,
    ),
    Further(
        "nodes/faults/test_what_commands_say.py",
        "output of commands during faults of capacity and of the database",
        "nodes/test_capacity.py",
    ),
    Further(
        "nodes/test_first_hour.py",
        "the tutorial, as printed",
        _REHEARSED,
    ),
    Further(
        "nodes/test_rehearse.py::TestFaults::test_one_strikes_whatever_runs",
        "a fault that the user injects",
        _AT_REST,
    ),
    Further(
        "nodes/test_rehearse.py::TestDeployingAgain",
        "a rehearsal that the CDK deploys again",
        "cloud/test_embedded_aws.py::test_the_cdk_finds_no_difference_and_nothing_to_do",
    ),
    Further(
        "nodes/test_rehearse.py::TestTwoAtOnce",
        "two rehearsals at once: without workers, with the user's own database",
        _REHEARSED,
    ),
    Further(
        "nodes/test_take_down.py::TestInterruption",
        "interruptions in later stages, by other signals",
        "nodes/test_take_down.py::TestInterruption::test_leaves_nothing[1-starting]",
    ),
    Further(
        "nodes/test_take_down.py::TestDeath::test_nothing_is_left_when_only_the_command",
        "the death of the command alone",
        "nodes/test_take_down.py::TestDeath"
        "::test_the_next_rehearsal_clears_what_a_dead_one_left_and_only_that",
    ),
    Further(
        "nodes/test_failed_scripts.py",
        "failed scripts on a node that is kept for inspection",
        "nodes/test_take_down.py::TestFailure",
    ),
    Further(
        "nodes/test_access_directory.py",
        "users from a directory (LDAP)",
        "nodes/test_access.py::TestOnNodes",
    ),
    Further(
        "nodes/test_execution_roles.py",
        "nodes that each lack one permission of their role",
        "nodes/test_guarded_environment.py::TestReach",
    ),
    Further(
        "nodes/test_hyperpod_operations.py",
        "operations on single nodes, including failures",
        "nodes/test_life.py",
    ),
    Further(
        "nodes/test_capacity.py::test_a_deployment_ends_well",
        "a deployment for which EC2 has too few instances",
        "nodes/test_capacity.py::TestPartialCapacity",
    ),
    Further(
        "nodes/test_life.py::test_destroyed_and_deployed_again",
        "an environment that is destroyed, and deployed again with its data and records",
        "nodes/test_records.py::test_records_are_in_the_server_and_outlive_the_cluster",
    ),
    Further(
        "nodes/test_profiles.py::test_the_fourth_attempt",
        "a software update that fails repeatedly",
        "nodes/test_hyperpod_modes.py::TestExtended"
        "::test_an_update_whose_scripts_fail_leaves_everything_as_it_was",
    ),
    Further(
        "nodes/test_profiles.py::test_a_job_ends_well",
        "a job while HyperPod rewrites slurm.conf, under adverse profiles",
        "nodes/test_reconfiguration.py",
    ),
    Further(
        "nodes/test_records.py::test_hyperpod_connects",
        "a database to which HyperPod connects Slurm, with a later password change",
        "nodes/test_records.py"
        "::test_a_password_that_rds_changes_reaches_slurmdbd_and_no_record_is_lost",
    ),
    Further(
        "nodes/test_access.py::test_people_come",
        "users of an environment whose scripts set Slurm up",
        "nodes/test_access.py::TestOnNodes",
    ),
    Further(
        "nodes/test_lifecycle_runs.py::test_runs_that_were_killed",
        "scripts that are killed at each step, and run again",
        "nodes/test_lifecycle_runs.py::test_a_second_run_finds_everything_done",
    ),
    Further(
        "nodes/test_hyperpod_modes.py::TestManaged::test_nodes_of_two_vpcs_have",
        "two clusters with the same addresses, in another mode",
        "nodes/test_hyperpod_modes.py::TestManaged"
        "::test_nodes_of_two_vpcs_have_the_same_names_and_are_not_mistaken[extended]",
    ),
    Further(
        "nodes/test_lifecycle_bundles.py::test_two_controllers",
        "two controllers with our scripts",
        "nodes/test_hyperpod_modes.py::TestOwnScripts",
    ),
    Further(
        f"{_RESUME}::test_all_nodes",
        "packages that a job installs for all nodes from a bucket",
        "pure/jobs/test_venv.py",
    ),
    Further(
        f"{_RESUME}::test_a_job_goes_on",
        "a training that resumes after losing nodes, with the losses of an undisturbed one",
        _RESUMED,
    ),
    Further(
        f"{_RESUME}::test_a_pretraining",
        "a `pretrain` that loses a node after its first checkpoint in the background",
        _RESUMED,
    ),
    Further(
        f"{_RESUME}::test_a_job_saves",
        "a training that reaches its time limit and is restarted by Slurm",
        f"{_CHECKPOINTS}::test_near_its_time_limit_a_training_saves_and_is_requeued",
    ),
    Further(
        f"{_RECIPES}::test_what_has_no_wheel",
        "packages that a job builds on a cluster node",
        "pure/jobs/test_venv_sources.py",
    ),
    Further(f"{_RECIPES}::test_gpt2", "a compiled training", _TRAINED),
    Further(f"{_RECIPES}::test_layers", "a training whose layers are split over nodes", _TRAINED),
    Further(f"{_RECIPES}::test_a_pipeline", "a pipeline over two nodes", _TRAINED),
    Further(f"{_RECIPES}::test_collectives", "a benchmark of collectives", _TRAINED),
    Further(f"{_RECIPES}::test_llama", "a training on Trainium", "pure/jobs/test_neuron_jobs.py"),
    Further(
        f"{_RECIPES}::test_nothing_is_trained",
        "a training on Trainium that cannot be compiled",
        "pure/jobs/test_neuron_jobs.py",
    ),
    Further(
        "programs/jobs/test_hybrid_training.py",
        "each mesh of `fsdp2-hybrid`",
        "programs/jobs/test_losses_that_part.py",
    ),
    Further(
        "programs/jobs/test_pretraining.py",
        "meshes, experts and a killed run of `pretrain`",
        "programs/jobs/test_losses_that_part.py",
    ),
    Further(
        "programs/jobs/test_pipeline_training.py",
        "stages and pipelines of `bert-pipeline`",
        "programs/jobs/test_losses_that_part.py",
    ),
    Further(
        f"{_CHECKPOINTS}::test_a_",
        "checkpoints that are cut off, shared, or corrupt",
        _RESUMED,
    ),
    Further(
        "programs/test_contributing.py",
        "additions of every other kind",
        "programs/test_contributing.py::test_a_rule",
    ),
    Further(
        "templates/test_checkov.py",
        "the templates, checked by checkov, too",
        "templates/test_nag.py",
    ),
    Further(
        "templates/test_new_fields.py",
        "new fields in each other environment",
        "templates/test_new_fields.py::test_a_new_field_with_a_default_changes_no_template[dev]",
    ),
    Further(
        "templates/random/test_synthesis.py",
        "templates of random environments",
        _SYNTHESIZED,
    ),
    Further(
        "cloud/test_wheel.py::test_apps_of_the_library_page",
        "the library page, with an installed package",
        "cloud/test_library_page.py",
    ),
    Further(
        "cloud/test_wheel.py::test_an_installed_package_deploys",
        "a deployment with an installed package",
        "nodes/test_life.py",
    ),
)


def is_further(node_id: str) -> bool:
    """Return whether only `make test-all` runs a test, given by its node id below `tests/`."""
    return any(node_id.startswith(each.tests) and node_id != each.proof for each in FURTHER)


def with_table(page: str) -> str:
    """Return a page with the table between its two marks regenerated."""
    head = "| only in `make test-all` | further cases | proved in `make test` by |\n|---|---|---|"
    rows = "\n".join(map(_row, FURTHER))
    return with_part(page, BEGIN, END, f"\n\n{head}\n{rows}\n\n")


def _row(further: Further) -> str:
    return f"| `{further.tests}` | {further.what} | `{further.proof}` |"

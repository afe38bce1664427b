"""What only `make test-all` runs: tests that prove what another test proves, for further cases.

`make test` is the command of everybody who changes something, so it proves each kind of thing once
and takes minutes. Nothing lands without `make test-all`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MARK = "further"
"""The mark of these tests: `make test` runs `pytest -m "not further"`."""

BEGIN = "<!-- further cases: made of tests/further_cases.py by `make golden` -->"
END = "<!-- end of further cases -->"


@dataclass(frozen=True)
class Further:
    """Tests by how their node ids below `tests/` begin, but for `proof` itself."""

    tests: str
    what: str
    """The further cases, as docs/testing.md tells them."""
    proof: str
    """What `make test` runs in their place: a test, a class or a file, by its node id."""


_FAULTS = "rehearsal/faults/test_lost_nodes.py"
_STRUCK = f"{_FAULTS}::test_nothing_is_lost[worker-power-cut]"
_REHEARSED = "rehearsal/test_rehearse.py::TestWhatIsShown"
_RECIPES = "rehearsal/test_recipes.py"
_TRAINED = f"{_RECIPES}::test_losses_of_data_parallel_training_are_those_of_one_process"
_RESUME = "rehearsal/test_resume.py"
_RESUMED = f"{_RESUME}::test_a_requeued_job_goes_on_from_the_newest_complete_checkpoint"
_CHECKPOINTS = "rehearsal/test_checkpoints.py"
_SYNTHESIZED = "stacks/test_golden.py"

FURTHER: Sequence[Further] = (
    Further(
        "functional/test_examples.py",
        "all environments of this repository, deployed and destroyed by the CDK's command line",
        "functional/test_embedded_aws.py::test_the_cdk_deploys_a_whole_environment",
    ),
    Further(_FAULTS, "each other fault that takes a node away", _STRUCK),
    Further(
        "rehearsal/faults/test_services_and_storage.py",
        "each other fault of a service or of storage",
        "rehearsal/faults/test_services_and_storage.py::test_nothing_is_lost[database-down]",
    ),
    Further(
        "rehearsal/faults/test_extended.py",
        "faults where HyperPod configures Slurm",
        _STRUCK,
    ),
    Further(
        "rehearsal/test_first_hour.py",
        "the tutorial, as it is printed",
        _REHEARSED,
    ),
    Further(
        "rehearsal/test_rehearse.py::TestTwoAtOnce",
        "two rehearsals at once: without workers, with a database of the user's",
        _REHEARSED,
    ),
    Further(
        "rehearsal/test_take_down.py::TestInterruption",
        "interruptions in other stages, by other signals",
        "rehearsal/test_take_down.py::TestInterruption::test_leaves_nothing[2-running scripts]",
    ),
    Further(
        "rehearsal/test_take_down.py::TestDeath::test_nothing_is_left_when_only_the_command",
        "the death of the command alone",
        "rehearsal/test_take_down.py::TestDeath"
        "::test_the_next_rehearsal_clears_what_a_dead_one_left_and_only_that",
    ),
    Further(
        "rehearsal/test_failed_scripts.py",
        "failed scripts of a node that is kept to look at",
        "rehearsal/test_take_down.py::TestFailure",
    ),
    Further(
        "rehearsal/test_access_directory.py",
        "people of a directory (LDAP)",
        "rehearsal/test_access.py::TestOnNodes",
    ),
    Further(
        "rehearsal/test_execution_roles.py",
        "nodes that lack one right of their role each",
        "rehearsal/test_guarded_environment.py::TestReach",
    ),
    Further(
        "rehearsal/test_hyperpod_operations.py",
        "operations on nodes one by one, also those that fail",
        "rehearsal/test_life.py",
    ),
    Further(
        "rehearsal/test_lifecycle_bundles.py::test_two_controllers",
        "two controllers with our scripts",
        "rehearsal/test_hyperpod_modes.py::TestOwnScripts",
    ),
    Further(
        f"{_RESUME}::test_a_step_goes_on",
        "a power cut while a checkpoint is saved",
        _RESUMED,
    ),
    Further(f"{_RECIPES}::test_gpt2", "a compiled training", _TRAINED),
    Further(f"{_RECIPES}::test_layers", "a training whose layers are split over nodes", _TRAINED),
    Further(f"{_RECIPES}::test_a_pipeline", "a pipeline over two nodes", _TRAINED),
    Further(f"{_RECIPES}::test_losses_that_part", "a training that is wrong", _TRAINED),
    Further(f"{_RECIPES}::test_collectives", "a benchmark of collectives", _TRAINED),
    Further(
        "jobs/test_hybrid_training.py",
        "each mesh of `fsdp2-hybrid`",
        "jobs/test_pipeline_training.py",
    ),
    Further(
        "jobs/test_compiled_training.py",
        "a compiler that changes the loss",
        "jobs/test_pipeline_training.py",
    ),
    Further(
        f"{_CHECKPOINTS}::test_a_",
        "checkpoints that are cut off, shared, or spoiled",
        f"{_CHECKPOINTS}::test_another_number_of_processes_goes_on_with_the_same_data",
    ),
    Further(
        "stacks/test_checkov.py", "the templates, judged by checkov, too", "stacks/test_nag.py"
    ),
    Further(
        "stacks/test_new_fields.py",
        "new fields in each other environment",
        "stacks/test_new_fields.py::test_a_new_field_with_a_default_changes_no_template[dev]",
    ),
    Further(
        "property/test_synthesis.py",
        "templates of random environments",
        _SYNTHESIZED,
    ),
    Further(
        "functional/test_wheel.py::test_apps_of_the_library_page",
        "the library page, with an installed package",
        "functional/test_library_page.py",
    ),
    Further(
        "functional/test_wheel.py::test_an_installed_package_deploys",
        "a deployment with an installed package",
        "rehearsal/test_life.py",
    ),
)


def is_further(node_id: str) -> bool:
    """Return whether a test, by its node id below `tests/`, is left to `make test-all`."""
    return any(node_id.startswith(each.tests) and node_id != each.proof for each in FURTHER)


def with_table(page: str) -> str:
    """Return a page with the table between its two marks made anew."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    head = "| only in `make test-all` | further cases | proved in `make test` by |\n|---|---|---|"
    rows = "\n".join(map(_row, FURTHER))
    return f"{before}{BEGIN}\n\n{head}\n{rows}\n\n{END}{after}"


def _row(further: Further) -> str:
    return f"| `{further.tests}` | {further.what} | `{further.proof}` |"

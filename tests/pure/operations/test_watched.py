"""What `why` tells of a job whose watcher has told of a hang."""

from __future__ import annotations

import pytest

from tests.pure.operations.test_why import HAD, job_cluster, why

HANGS = "no progress for 330 s after step 41: rank 3 on ip-10-0-1-4 (process 812) is stopped"


def comment(kind: str) -> str:
    return f"{HAD} Comment=mine slurmpod-watch 2026-11-23T21:30:00+00:00 {kind}: {HANGS} Power="


@pytest.mark.parametrize("state", ["RUNNING", "FAILED", "TIMEOUT"])
def test_a_hang_is_the_cause_with_rank_node_and_what_to_do(state: str) -> None:
    story = why(job_cluster(state, more=comment("hang")), "7")
    assert story.cause.says == f"the training hangs: {HANGS}"
    assert "`scontrol requeue 7`" in story.cause.fix
    assert "slurmpod_watch-7" in story.cause.fix
    assert [each.text for each in story.moments if each.source == "slurmpod-watch"] == [
        f"hang: {HANGS}"
    ]


def test_a_crawl_is_told_and_nothing_is_to_begin_again() -> None:
    story = why(job_cluster("RUNNING", more=comment("crawl")), "7")
    assert story.cause.says == f"the training crawls: {HANGS}"
    assert "requeue" not in story.cause.fix


@pytest.mark.parametrize(
    ("state", "kind"), [("RUNNING", "over"), ("COMPLETED", "over"), ("COMPLETED", "hang")]
)
def test_what_is_over_is_told_beside_how_it_is_now(state: str, kind: str) -> None:
    story = why(job_cluster(state, more=comment(kind)), "7")
    assert story.cause.says in ("it runs", "it ended well")
    assert HANGS in story.also[-1].says


def test_a_comment_of_the_user_is_none_of_the_watcher() -> None:
    story = why(job_cluster("RUNNING", more=f"{HAD} Comment=hang: on"), "7")
    assert story.cause.says == "it runs"
    assert story.also == ()

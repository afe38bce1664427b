"""The page as a text: what is on it, what stands where something is unknown, and its safety."""

from __future__ import annotations

import re
from base64 import b64decode
from dataclasses import replace
from itertools import pairwise

import pytest

from slurmpod.folders import folder
from slurmpod.operations.attempt import Unavailable
from slurmpod.operations.goodput import read_goodput
from slurmpod.operations.idle_checks import CheckedNodes
from slurmpod.report.page import Known, duration, page_of, tick
from slurmpod.report.record import Record
from tests.pure.report.known import CHECKS, PANELS, known, planned, rehearsed

WORD = re.compile(r"<[^>]+>|\s+")


def words(page: str) -> str:
    """Return what a reader sees."""
    body = page[page.index("<body>") :]
    return " ".join(WORD.sub(" ", body).split())


@pytest.mark.parametrize(
    "what", [known(), planned(), rehearsed()], ids=["aws", "plan", "rehearsal"]
)
def test_the_same_input_gives_the_same_page_which_loads_nothing(what: Known) -> None:
    page = page_of(what)
    assert page_of(what) == page
    assert "default-src 'none'" in page
    assert not re.search(r"(?:src|href)=\"(?!#|data:)|<script|@import|url\(|https?:", page)


def test_what_is_there_and_what_happened_is_on_it() -> None:
    page = words(page_of(known()))
    assert "dev: the environment in AWS" in page
    assert "5 of 5 in service" in page
    assert "ip-10-0-1-3 workers 1 Running drained alice: bad NVLink | ask Bob" in page
    assert "6 min 10 s" in page
    assert "ip-10-0-1-1 step slurmd" in page
    assert "7 train|with bars alice cpu 2" in page
    assert "COMPLETED 10.0 s 1 min 30 s" in page
    assert "unknown: the environment has no `budget`" in page


def test_metrics_are_pictures_on_the_page_or_their_absence_is_explained() -> None:
    (picture,) = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]+)"', page_of(known()))
    assert b64decode(picture).decode() == PANELS[0].svg
    silent = words(page_of(known(panels=Unavailable("no endpoint"))))
    assert "The metrics are unknown: no endpoint" in silent
    assert "Prometheus has no data for this hour yet" in words(page_of(known(panels=())))
    assert "Metrics of the last hour" not in words(page_of(known(panels=None)))


def test_how_node_hours_ended_stands_with_the_jobs() -> None:
    page = words(page_of(known()))
    assert "75% of 4.00 node-hours that ended were in runs that completed." in page
    assert "completed 3.00 lost to failed nodes 1.00 not ended 2.00" in page
    assert "waited for in the queue 1.00" in page


def test_goodput_is_left_out_before_a_job_has_ended_and_told_of_once_if_nobody_knows() -> None:
    assert "Goodput" not in page_of(known(goodput=read_goodput("RUNNING|7200|0\n")))
    silent = Unavailable("slurmdbd is away")
    page = words(page_of(known(jobs=silent, goodput=silent)))
    assert page.count("slurmdbd is away") == 1
    page = words(page_of(known(goodput=silent)))
    assert "How node-hours ended cannot be read: slurmdbd is away" in page


def test_checks_of_idle_nodes_stand_with_the_worst_node_first() -> None:
    page = words(page_of(known()))
    assert "Repeatedly bad ip-10-0-1-3 (2 of its last 5 checks)." in page
    assert "ip-10-0-1-3 workers bad 2 of 5 alone, 2026-11-23 21:00 UTC /scratch cannot be" in page
    assert "with ip-10-0-1-1, 2026-11-23 21:00 UTC no dcgmi pair MiB/s 3000" in page
    assert "ip-10-0-1-1 workers good 0 of 1 alone" in page
    assert "7 more nodes were checked. All results of a node: slurmpod node check" in page


def test_without_checks_the_page_has_no_word_of_them() -> None:
    assert "Checks of idle nodes" not in page_of(known(checks=None))
    assert "No node has been checked yet" in page_of(known(checks=CheckedNodes((), 0)))
    sound = replace(CHECKS, nodes=CHECKS.nodes[1:])
    assert "No node was bad repeatedly" in page_of(known(checks=sound))


def test_a_plan_says_why_there_is_no_more() -> None:
    page = words(page_of(planned()))
    assert "The deployed state is unknown: no credentials. This page shows the plan." in page
    assert "First deployment: order and expected time" in page
    assert "8 to 20 minutes" in page
    assert "Last deployment" not in page


def test_faults_stand_with_what_was_noticed_and_recovered() -> None:
    page = words(page_of(rehearsed()))
    assert "dev: rehearsal dev-1a2b3c" in page
    assert "nothing lost noticed after 0.9 s, recovered after 3.0 s" in page
    assert "10.0 s recovered idle again" in page


def test_why_a_rehearsal_failed_stands_at_the_top() -> None:
    page = words(page_of(rehearsed(failure="step slurmd failed")))
    assert "The rehearsal failed. step slurmd failed" in page
    assert page.index("step slurmd failed") < page.index("Network flows")


@pytest.mark.parametrize("part", ["runs", "nodes", "jobs", "checks"])
def test_what_could_not_be_read_says_so_in_its_place(part: str) -> None:
    page = words(page_of(known(**{part: Unavailable(f"AccessDenied: no {part} for you")})))
    assert f"cannot be read: AccessDenied: no {part} for you" in page


@pytest.mark.parametrize(
    "part", ["cluster", "nodes", "slurm", "stacks", "alarms", "money"], ids=lambda part: part
)
def test_a_status_without_a_part_still_makes_a_page(part: str) -> None:
    whole = known().record
    assert isinstance(whole, Record)
    status = replace(whole.status, **{part: Unavailable("throttled")})  # type: ignore[arg-type]
    page = words(page_of(known(status=status)))
    assert "throttled" in page or part == "stacks"


def test_nothing_that_was_read_becomes_part_of_the_page() -> None:
    page = page_of(rehearsed(failure="<script>alert(1)</script> & more"))
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in page
    assert "<script" not in page


@pytest.mark.parametrize(
    "what", [known(), planned(), rehearsed()], ids=["aws", "plan", "rehearsal"]
)
def test_every_section_can_be_reached_and_headings_are_in_order(what: Known) -> None:
    page = page_of(what)
    links = re.findall(r'href="#([^"]+)"', page)
    assert links == re.findall(r'<section id="([^"]+)"', page)
    levels = [int(level) for level in re.findall(r"<h([1-6])", page)]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    assert page.count("<h1") == 1


@pytest.mark.parametrize(
    ("seconds", "text"), [(9.16, "9.2 s"), (200, "3 min 20 s"), (3900, "1 h 5 min"), (0, "0.0 s")]
)
def test_durations_are_told_as_people_do(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.5, "0.5 s"), (120, "2 min"), (7200, "2 h")])
def test_ticks_have_short_names(seconds: float, text: str) -> None:
    assert tick(seconds) == text


COLOURS = re.compile(r"--([\w-]+): (#[0-9a-f]{6});")
PAIRS = (
    ("ink", "paper"), ("ink", "ground"), ("ink", "faint"), ("ink", "vpc"), ("ink", "public"),
    ("soft", "paper"), ("soft", "ground"), ("soft", "faint"), ("soft", "vpc"), ("soft", "public"),
    ("accent", "paper"), ("paper", "accent"), ("good", "good-ground"), ("bad", "bad-ground"),
    ("warn", "warn-ground"), ("good", "paper"), ("bad", "paper"), ("warn", "paper"),
)  # fmt: skip
"""What stands on what; names of lanes are large and stand on the VPC."""


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_texts_have_the_contrast_that_wcag_asks_for(scheme: int) -> None:
    css = (folder("templates") / "report" / "page.css").read_text()
    colours = dict(COLOURS.findall(css.split(":root {")[1 + scheme].split("}")[0]))
    hues = tuple((f"hue-{number}", "vpc") for number in range(8))
    weak = [pair for pair in (*PAIRS, *hues) if contrast(*(colours[name] for name in pair)) < 4.5]
    assert weak == []


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours (WCAG 2.2, 1.4.3)."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue

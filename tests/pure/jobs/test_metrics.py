"""`slurmpod job metrics`: what a log says of a training, also when it was cut off."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from slurmpod.cli.main import run
from slurmpod.jobs.metrics.log import lives
from slurmpod.jobs.metrics.measures import measures, prometheus, throughput
from slurmpod.problems import ExitCode

BEGIN = "starting from the beginning with 2 processes"


def steps(first: int, last: int, at: float, every: int = 1) -> Iterator[str]:
    """Yield the lines of steps with two seconds and eight samples each."""
    for step in range(first, last + 1, every):
        more = f"samples {8 * step} at {at + 2 * (step - first):.3f}"
        yield f"0: step {step} loss {10 / step:.6f} rate 3.000e-03 {more}"


def requeued() -> list[str]:
    """A run that ended after step 30, and went on from step 20, 120 seconds later."""
    resumed = "0: resuming after step 20 with 2 processes, 2 before"
    return [f"0: {BEGIN}", *steps(1, 30, 1000), "slurmstepd: error", resumed, *steps(21, 40, 1178)]


class TestLog:
    def test_a_life_begins_where_the_program_says_so(self) -> None:
        first, second = lives(requeued())
        assert (first.after, second.after) == (0, 20)
        assert [first.reports[-1].step, second.reports[0].step] == [30, 21]
        assert (second.reports[0].samples, second.reports[0].at) == (168, 1178.0)

    def test_a_life_begins_where_steps_go_back(self) -> None:
        lines = ["step 1 loss 3", "step 2 loss 2 alone 2", "[x] step 2 loss 2.5", "step 3 loss 1"]
        first, second = lives(lines)
        assert [report.loss for report in first.reports] == [3.0, 2.0]
        assert [report.loss for report in second.reports] == [2.5, 1.0]
        assert (second.after, second.reports[0].at) == (None, None)

    @pytest.mark.parametrize(
        "line",
        [
            "step 1 loss nan",
            "step 1 loss none",
            "misstep 1 loss 2",
            "step one loss 2",
            "srun: error: step 12.0 lost",
            BEGIN,
        ],
    )
    def test_what_reports_no_loss_is_no_life(self, line: str) -> None:
        assert lives([line]) == ()


class TestMeasures:
    def test_an_undisturbed_run(self) -> None:
        found = measures(lives(steps(1, 11, 50)))
        assert (found.step, found.restarts, found.steps_trained_twice) == (11, 0, 0)
        assert (found.seconds_lost, found.train_runtime) == (0.0, 20.0)
        assert found.train_steps_per_second == 0.5
        assert found.train_samples_per_second == found.samples_per_second_with_losses == 4.0

    def test_steps_behind_the_checkpoint_are_trained_twice(self) -> None:
        found = measures(lives(requeued()))
        assert (found.step, found.restarts, found.steps_trained_twice) == (40, 1, 10)
        assert found.seconds_lost == 120 + 10 * 2
        assert found.train_runtime == 29 * 2 + 19 * 2
        assert found.train_samples_per_second == 4.0
        assert found.samples_per_second_with_losses == 8 * 39 / (1178 + 19 * 2 - 1000)
        assert (found.loss, found.lowest_loss) == (0.25, 0.25)

    def test_goodput_is_the_share_of_time_in_which_steps_were_trained_that_count(self) -> None:
        found = measures(lives(requeued()))
        assert found.goodput == 1 - (120 + 10 * 2) / (1178 + 19 * 2 - 1000)
        assert measures(lives(steps(1, 11, 50))).goodput == 1.0

    def test_a_pause_to_save_or_a_hang_lowers_it(self) -> None:
        found = measures(lives([*steps(1, 11, 0), *steps(12, 21, 100)]))
        assert found.seconds_paused == 100 - 20 - 2
        assert found.goodput == 1 - 78 / 118

    def test_hangs_and_checkpoints_are_told_apart_where_the_log_says_which(self) -> None:
        hang = "slurmpod-watch: hang: no progress for 300 s after step 31: rank 1; saved checkpoint"
        saves = ["INFO Saving the checkpoint (or staging if async is enabled).", hang]
        lines = [*steps(1, 11, 0), saves[0], *steps(12, 21, 100), *steps(22, 31, 200)]
        found = measures(lives([*lines, *reversed(saves), *steps(32, 41, 300)]))
        assert (found.seconds_saving, found.seconds_hanging) == (78.0, 80.0)
        assert found.seconds_paused == 78 + 80 + 80

    def test_a_pause_in_steps_that_were_thrown_away_is_lost_once(self) -> None:
        lines = [BEGIN, *steps(1, 10, 0), *steps(11, 12, 100), BEGIN, *steps(1, 3, 200)]
        found = measures(lives(lines))
        assert (found.seconds_paused, found.seconds_lost) == (0.0, 102 + 98)
        assert found.goodput == 1 - 200 / 204

    def test_a_run_that_begins_again_has_lost_all(self) -> None:
        lines = [BEGIN, *steps(1, 5, 0), BEGIN, *steps(1, 3, 100)]
        assert measures(lives(lines)).steps_trained_twice == 5

    def test_a_job_that_goes_on_where_another_ended_trains_nothing_twice(self) -> None:
        ended = [BEGIN, *steps(1, 5, 0)]
        lines = [*ended, "resuming after step 5 with 4 processes, 2 before", *steps(6, 9, 60)]
        found = measures(lives(lines))
        assert (found.restarts, found.steps_trained_twice, found.seconds_lost) == (1, 0, 52.0)

    def test_steps_that_are_reported_now_and_then(self) -> None:
        (life,) = lives(steps(10, 50, 0, every=10))
        assert list(throughput(life)) == [(step, 4.0) for step in (20, 30, 40, 50)]

    def test_a_log_without_times_has_no_throughput(self) -> None:
        found = measures(lives(["step 1 loss 3", "step 2 loss 2", "step 2 loss 2"]))
        assert found.restarts == 1
        assert (found.seconds_lost, found.train_runtime) == (None, None)
        assert (found.seconds_paused, found.goodput) == (None, None)
        assert found.train_samples_per_second is None
        assert "seconds" not in prometheus(found)
        assert "# TYPE restarts gauge\nrestarts 1\n" in prometheus(found)


class TestCommand:
    @pytest.fixture
    def log(self, tmp_path: Path) -> str:
        file = tmp_path / "train <1>_12.out"
        file.write_text("\n".join(requeued()) + "\n\xff\n", encoding="latin-1")
        return str(file)

    def test_pauses_are_shown_with_what_the_log_says_of_them(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        log = tmp_path / "train.out"
        lines = [*steps(1, 11, 0), "saving checkpoint at iteration 11", *steps(12, 21, 100)]
        log.write_text("\n".join(lines))
        assert run(["job", "metrics", str(log)]) == ExitCode.OK
        assert "with 78 seconds of pauses (78 to save)\n" in capsys.readouterr().out

    def test_text_picture_and_prometheus(
        self, log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        files = [str(tmp_path / name) for name in ("a.svg", "a.prom")]
        command = ["job", "metrics", log, "--svg", files[0], "--prometheus", files[1]]
        assert run(command) == ExitCode.OK
        assert capsys.readouterr().out == (
            "step 40, loss 0.25 (lowest 0.25)\n"
            "4 samples and 0.5 steps per second while it trained\n"
            "learning rate 0.003\n"
            "2 seconds per step\n"
            "goodput 35.2%, with 0 seconds of pauses\n"
            "1 restart, 10 steps trained twice, 140 seconds lost\n"
            "1.444 samples per second overall\n"
            "  run 1: step 1 to 30\n"
            "  run 2: step 21 to 40\n"
        )
        image = ElementTree.fromstring(Path(files[0]).read_text())  # noqa: S314  # our own
        assert len(image.findall(".//{*}polyline")) == 4
        texts = [each.text for each in image.findall(".//{*}text")]
        assert {"train <1>_12.out", "loss", "samples per second", "step"} <= set(texts)
        assert "\ntrain_samples_per_second 4.0\n" in Path(files[1]).read_text()

    def test_json_has_every_step_of_all_logs(
        self, log: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        more = "resuming after step 40 with 2 processes, 2 before\nstep 41 loss 0.1\n"
        monkeypatch.setattr("sys.stdin", io.StringIO(more))
        assert run(["job", "metrics", log, "-", "--json"]) == ExitCode.OK
        found = json.loads(capsys.readouterr().out)
        assert (found["step"], found["restarts"], found["seconds_lost"]) == (41, 2, None)
        assert [len(life["reports"]) for life in found["lives"]] == [30, 20, 1]

    def test_a_picture_of_one_step(self, tmp_path: Path) -> None:
        (tmp_path / "log").write_text("step 1 loss 0\n")
        files = [str(tmp_path / name) for name in ("log", "a.svg")]
        assert run(["job", "metrics", files[0], "--svg", files[1]]) == ExitCode.OK
        image = ElementTree.fromstring(Path(files[1]).read_text())  # noqa: S314  # our own
        assert len(image.findall(".//{*}circle")) == 1

    def test_a_log_that_says_nothing(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "log").write_text("hello\n")
        assert run(["job", "metrics", str(tmp_path / "log")]) == ExitCode.FAILED
        said = capsys.readouterr().err
        assert "known formats: lines with 'step N loss X', and torchtitan, Megatron-LM" in said
        assert "disable_tqdm=False" in said
        assert run(["job", "metrics", str(tmp_path / "none")]) == ExitCode.FAILED
        assert "none cannot be read: No such file" in capsys.readouterr().err

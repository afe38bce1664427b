"""`slurmpod job metrics` reads what other trainers print: lines of the shape of their sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slurmpod.cli.main import run
from slurmpod.jobs.metrics.formats import FORMATS
from slurmpod.jobs.metrics.log import Life, lives
from slurmpod.jobs.metrics.report import Report
from slurmpod.problems import ExitCode

EXAMPLES = {each.name: each.example for each in FORMATS}
BAR = "  4%|4         | 20/500 [00:10<04:00,  2.00it/s]"

TITAN = 1777629607.0
"""2026-05-01 10:00:07 as UTC."""

READ = {
    "torchtitan": Report(20, 7.25, None, TITAN, tokens_per_second=7250.0, mfu=0.4047),
    "Megatron-LM": Report(20, 10.5, 320, TITAN + 5, rate=4e-5, seconds=0.8205),
    "nanoGPT": Report(20, 3.125, None, None, seconds=0.1505, mfu=0.3525),
    "Neuron (neuronx-distributed)": Report(20, 7.5, None, TITAN - 4, rate=7.8e-5),
    "NeMo": Report(20, 1.25, 168, None, rate=2e-6, seconds=2.5),
    "Lightning, and NeMo's progress bar": Report(20, 1.5, None, None),
    "Hugging Face's Trainer": Report(20, 1.25, None, None, rate=4e-5),
}


def read(*lines: str) -> tuple[Life, ...]:
    return lives(lines)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_of_each_format_is_read(name: str) -> None:
    (life,) = read(EXAMPLES[name], BAR) if "Hugging" in name else read(EXAMPLES[name])
    (report,) = life.reports
    assert report.format == name
    values = {**vars(READ[name]), "format": name}
    assert vars(report) == pytest.approx(values)


@pytest.mark.parametrize(
    "line",
    [
        "[titan] 2026-05-01 10:00:07,120 - root - INFO - validate step: 20  loss:  7.25000  memory",
        " validation loss at iteration 20 | lm loss value: 1.0E+01 | lm loss PPL: 2.0E+04 |",
        f"iter {'9' * 5000}: loss 3.1250, time 150.50ms, mfu 35.25%",
        "step 250: train loss 2.5000, val loss 2.6000",
        "Epoch 1:   0%|          | 0/100 [00:00<?, ?it/s, v_num=0, train_loss=1.500]",
        "Epoch 3:   ?|          | 5/? [00:10<?, ?it/s, v_num=0, train_loss=1.500]",
        "{'eval_loss': 1.25, 'eval_runtime': 2.5, 'epoch': 1.0}",
        " iteration  10/ 500 | elapsed time per iteration (ms): 820.5 | learning rate: 0.0E+00 |",
    ],
)
def test_what_is_no_step_of_a_training(line: str) -> None:
    assert read(line) == ()


def test_colours_do_not_matter() -> None:
    line = (
        EXAMPLES["torchtitan"].replace("step:", "\x1b[31mstep:").replace("  loss", "  \x1b[32mloss")
    )
    (life,) = read(f"[rank0]:{line}\x1b[39m")
    assert life.reports[0].loss == 7.25
    assert life.reports[0].mfu == 0.4047


def test_each_process_and_each_refresh_counts_once() -> None:
    line = EXAMPLES["nanoGPT"]
    bar = EXAMPLES["Lightning, and NeMo's progress bar"]
    assert [len(life.reports) for life in read(line, line)] == [1]
    assert [len(life.reports) for life in read(bar, bar.replace("]", ", val_loss=2.0]"))] == [1]


def test_a_restart_begins_a_life() -> None:
    lines = [
        EXAMPLES["nanoGPT"].replace("iter 20", f"iter {step}") for step in (10, 20, 30, 20, 30)
    ]
    assert [[each.step for each in life.reports] for life in read(*lines)] == [
        [10, 20, 30],
        [20, 30],
    ]


def test_a_bar_of_a_later_epoch_goes_on_counting() -> None:
    bar = EXAMPLES["Lightning, and NeMo's progress bar"]
    (life,) = read(bar, bar.replace("Epoch 0", "Epoch 2"))
    assert [report.step for report in life.reports] == [20, 220]


class TestTrainer:
    line = EXAMPLES["Hugging Face's Trainer"]

    def test_the_step_is_that_of_the_bar_behind(self) -> None:
        other = "Loading checkpoint shards: 100%|##########| 4/4 [00:01<00:00,  3.00it/s]"
        stale, behind = BAR.replace("20/", "18/"), BAR
        (life,) = read(stale, self.line, other, f"0: {behind}", BAR.replace("20/", "25/"))
        assert [report.step for report in life.reports] == [20]

    def test_the_last_one_has_that_of_the_bar_before(self) -> None:
        (life,) = read(BAR, self.line)
        assert [report.step for report in life.reports] == [20]

    def test_without_any_bar_no_step_is_made_up(self) -> None:
        assert read(self.line, self.line) == ()

    def test_newer_versions_write_texts(self) -> None:
        (life,) = read("{'loss': '1.25', 'learning_rate': '4e-05', 'epoch': '0.2'}", BAR)
        assert (life.reports[0].loss, life.reports[0].rate) == (1.25, 4e-5)


class TestTokensAndMfu:
    def found(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], *more: str
    ) -> dict[str, Any]:
        (tmp_path / "log").write_text(EXAMPLES["NeMo"])
        assert run(["job", "metrics", str(tmp_path / "log"), "--json", *more]) == ExitCode.OK
        known: dict[str, Any] = json.loads(capsys.readouterr().out)
        return known

    def test_they_follow_from_what_a_step_computes(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        work = ("--sequence", "4096", "--global-batch", "512", "--accelerators", "64")
        model = ("--model", "llama2-7b", "--accelerator", "H100")
        found = self.found(tmp_path, capsys, *work, *model)
        tokens = 512 * 4096 / 2.5
        assert found["tokens_per_second"] == pytest.approx(tokens)
        assert found["tokens_per_second_per_accelerator"] == pytest.approx(tokens / 64)
        flops = 6 * 6.738e9 + 12 * 32 * 4096 * 4096
        assert found["mfu"] == pytest.approx(tokens / 64 * flops / 989e12, rel=1e-3)

    def test_what_is_not_known_is_not_guessed(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        found = self.found(tmp_path, capsys, "--sequence", "4096")
        assert (found["tokens_per_second"], found["mfu"]) == (None, None)
        assert (found["seconds_per_step"], found["learning_rate"]) == (2.5, 2e-6)

    def test_they_are_printed(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "log").write_text(EXAMPLES["torchtitan"])
        assert run(["job", "metrics", str(tmp_path / "log"), "--accelerators", "8"]) == ExitCode.OK
        assert capsys.readouterr().out == (
            "step 20, loss 7.25 (lowest 7.25)\na log of torchtitan\n5.8e+04 tokens per second\n"
            "7250 per accelerator\nMFU 40.5%\n0 restarts\n  run 1: step 20 to 20\n"
        )

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            (("--sequence", "0"), "at least 1"),
            (("--model", "llama2-7b"), "give --sequence"),
            (("--model", "x", "--sequence", "8"), "'x' is not a known model"),
            (("--accelerator", "Z80"), "the peak FLOPS of 'Z80' is not known"),
        ],
    )
    def test_a_mistake_is_told(
        self, more: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(["job", "metrics", "log", *more]) == ExitCode.USAGE
        assert message in capsys.readouterr().err

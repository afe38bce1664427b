from pathlib import Path

import pytest

from slurmpod.platform_profiles.loading import DEFAULT, Evidence, built_in, load
from slurmpod.platform_profiles.profile import Confidence
from slurmpod.problems import InvalidEnvironment, Problem


def file(folder: Path, text: str, name: str = "own.yaml") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def problems(*given: str) -> tuple[Problem, ...]:
    with pytest.raises(InvalidEnvironment) as invalid:
        load(given)
    return invalid.value.problems


class TestBuiltIn:
    @pytest.mark.parametrize("name", built_in())
    def test_each_value_has_a_source_and_a_confidence(self, name: str) -> None:
        evidence = load([name]).evidence
        assert all(
            each.source and each.confidence in tuple(Confidence) for each in evidence.values()
        )
        assert ("slurm_conf", "lines", "TaskPlugin") in evidence

    def test_the_default_is_the_first(self) -> None:
        assert next(iter(built_in())) == DEFAULT


class TestOwnFiles:
    def test_a_file_says_only_what_differs(self, tmp_path: Path) -> None:
        own = file(tmp_path, "source: our cluster\nslurm_conf: {lines: {ReturnToService: 0}}\n")
        default, loaded = load(), load([own])
        lines = dict(default.profile.slurm_conf.lines)
        assert loaded.profile.slurm_conf.lines == {**lines, "ReturnToService": "0"}
        assert list(loaded.profile.slurm_conf.lines) == list(lines)
        place = ("slurm_conf", "lines", "ReturnToService")
        assert loaded.evidence[place].source == "our cluster"

    def test_a_value_may_have_evidence_of_its_own(self, tmp_path: Path) -> None:
        own = file(
            tmp_path,
            "slurm_conf: {login_nodes: {value: false, source: sinfo, confidence: certain}}\n",
        )
        loaded = load([own])
        assert loaded.profile.slurm_conf.login_nodes is False
        assert loaded.evidence["slurm_conf", "login_nodes"] == Evidence("sinfo", "certain")

    def test_null_takes_a_line_away(self, tmp_path: Path) -> None:
        loaded = load([file(tmp_path, "slurm_conf: {lines: {MpiDefault: null}}\n")])
        assert "MpiDefault" not in loaded.profile.slurm_conf.lines
        assert ("slurm_conf", "lines", "MpiDefault") not in loaded.evidence

    def test_later_ones_are_laid_upon_earlier_ones(self, tmp_path: Path) -> None:
        first = file(tmp_path, "timing: {slurm_conf_milliseconds: 1}\n", "first.yaml")
        second = file(tmp_path, "timing: {slurm_conf_milliseconds: 2}\n", "second.yaml")
        assert load([first, second]).profile.timing.slurm_conf_milliseconds == 2


class TestMistakes:
    @pytest.mark.parametrize(
        ("text", "line", "message", "fix"),
        [
            ("timing:\n  slurm_conf_miliseconds: 3\n", 2, "unknown key", "did you mean"),
            ("timing:\n  slurm_conf_milliseconds: soon\n", 2, "not a whole number", "from 0"),
            ("slurm_conf:\n  login_nodes: 2\n", 2, "neither true nor false", "true or false"),
            (
                "slurm_conf:\n  accounting_include: no\n",
                2,
                "not one of",
                "never, without_on_create",
            ),
            (
                "slurm_conf:\n  lines:\n    A: {value: 1, confidence: sure}\n",
                3,
                "'sure' is not one of the choices",
                "certain, likely, doubtful",
            ),
            ("slurm_conf:\n  lines:\n    A: {value: 1, sorce: x}\n", 3, "'sorce'", "'source'"),
            ("slurm_conf:\n  lines:\n    A: {value: 1, source: 2}\n", 3, "not text", "comes from"),
            ("slurm_conf:\n\tlines\n", 2, "a tab", "spaces"),
            ("[1]\n", 1, "not a mapping", "key: value"),
            ("confidence: sure\n", 1, "not one of the choices", "certain"),
        ],
    )
    def test_are_named_with_line_and_fix(
        self, tmp_path: Path, text: str, line: int, message: str, fix: str
    ) -> None:
        own = file(tmp_path, text)
        (problem,) = problems(own)
        assert (problem.where.file, problem.where.line) == (own, line)
        assert message in problem.message
        assert fix in problem.fix

    def test_all_are_told_at_once(self, tmp_path: Path) -> None:
        own = file(tmp_path, "nope: 1\ntiming: {slurm_conf_milliseconds: -1}\n")
        assert [problem.where.line for problem in problems(own)] == [1, 2]

    def test_a_name_that_is_not_there(self, tmp_path: Path) -> None:
        (problem,) = problems("ami-2026-1")
        assert problem.fix == "did you mean 'ami-2026-01'?"
        (problem,) = problems(str(tmp_path / "none"))
        assert f"give a file, or one of {DEFAULT}" in problem.fix

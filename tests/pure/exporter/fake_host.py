"""A node that exists only in a test: its commands print what the samples hold."""

from __future__ import annotations

import time
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from slurmpod_exporter.collector import Collector, CollectorFailed, Host

SAMPLES = Path(__file__).parents[2] / "cases" / "exporter"
NOW = time.mktime((2026, 11, 20, 17, 30, 0, 0, 0, -1))


class FakeHost(Host):
    """Programs are those that were given an output; files are a dictionary.

    An output may be that of all that a program is asked, or of what begins with certain words.
    """

    def __init__(self, *, is_controller: bool = False) -> None:
        super().__init__(is_controller=is_controller)
        self.files: dict[str, str] = {}
        self.outputs: dict[str, str | CollectorFailed] = {}
        self.ran: list[str] = []

    def now(self) -> float:
        return NOW

    def prints(self, command: str, text: str) -> None:
        self.outputs[command] = text

    def fails(self, command: str, reason: str) -> None:
        self.outputs[command] = CollectorFailed(reason)

    def has(self, program: str) -> bool:
        return program in {command.split()[0] for command in self.outputs}

    def run(self, *command: str) -> str:
        asked = " ".join(command)
        self.ran.append(asked)
        known = [each for each in self.outputs if f"{asked} ".startswith(f"{each} ")]
        if not known:
            raise CollectorFailed(f"{command[0]}: not found")
        output = self.outputs[max(known, key=len)]
        if isinstance(output, CollectorFailed):
            raise output
        return output

    def first_line(self, *command: str) -> str:
        return self.run(*command).partition("\n")[0]

    def glob(self, pattern: str) -> list[str]:
        """Match files and the folders above them, part by part."""
        depth = len(PurePosixPath(pattern).parts)
        known = {PurePosixPath(*PurePosixPath(path).parts[:depth]) for path in self.files}
        parts = PurePosixPath(pattern).parts
        return sorted(
            str(path)
            for path in known
            if len(path.parts) == depth and all(map(fnmatchcase, path.parts, parts))
        )

    def read(self, path: str) -> str:
        if path not in self.files:
            raise CollectorFailed(f"{path}: No such file or directory")
        return self.files[path]


def sample(name: str) -> str:
    return (SAMPLES / name).read_text()


def found(collector: Collector, host: Host) -> dict[str, float]:
    """Return what a collector finds: values by the text of name and labels."""
    return {
        f"{sample.name}{{{','.join(f'{k}={v}' for k, v in sample.labels.items())}}}": sample.value
        for sample in collector.collect(host)
    }

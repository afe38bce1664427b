"""`slurmpod render`: the bundle of scripts that HyperPod will run on every new node."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from slurmpod.bundle import Bundle, render_bundle
from slurmpod.cli.environment import sound_environment
from slurmpod.cli.output import print_json, say, say_next
from slurmpod.problems import ExitCode
from slurmpod.whole_file import write_whole


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", type=Path, help="the environment, e.g. environments/dev.yaml")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write the files into FOLDER")
    parser.add_argument("--json", action="store_true", help="print the list of files as JSON")


def run(options: argparse.Namespace) -> ExitCode:
    """List the files of the bundle, and write them if `--out` is given."""
    resolved = sound_environment(options.file).resolved
    bundle = render_bundle(resolved)
    if bundle is None:
        return _say_there_is_none(options)
    if options.out:
        strangers = _strangers(options.out, bundle)
        if strangers:
            others = ", ".join(strangers[:5])
            say(f"{options.out} has files that are not part of the bundle: {others}")
            say("  fix: choose an empty folder, or one from an earlier render")
            return ExitCode.USAGE
        _write(options.out, bundle)
    if options.json:
        print_json(_as_data(bundle))
        return ExitCode.OK
    _print_list(bundle)
    say_next("rehearse", options.file)
    return ExitCode.OK


def _say_there_is_none(options: argparse.Namespace) -> ExitCode:
    if options.json:
        print_json(None)
        return ExitCode.OK
    say("there is nothing to render: in managed mode HyperPod sets up nodes without scripts")
    say_next("rehearse", options.file)
    return ExitCode.OK


def _strangers(folder: Path, bundle: Bundle) -> list[str]:
    """Return the files in `folder` that are not in the bundle, but would seem to be."""
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in found if path not in bundle.files)


def _write(folder: Path, bundle: Bundle) -> None:
    for path, content in bundle.files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, content)


def _as_data(bundle: Bundle) -> dict[str, object]:
    return {
        "prefix": bundle.prefix,
        "digest": bundle.digest,
        "files": {path: len(content) for path, content in bundle.files.items()},
        "deploy_time_files": list(bundle.deploy_time_files),
    }


def _print_list(bundle: Bundle) -> None:
    sys.stdout.write(f"{bundle.prefix}/\n")
    for path, content in bundle.files.items():
        note = "  (completed when deployed)" if path in bundle.deploy_time_files else ""
        sys.stdout.write(f"{len(content):>8}  {path}{note}\n")

"""Copying a job's folder to the cluster, with a prompt before anything is overwritten."""

from __future__ import annotations

import argparse
import sys

from slurmpod.aws.bucket import Bucket
from slurmpod.aws.clients import clients_of
from slurmpod.cli.output import say
from slurmpod.operations.copying.carriers import BucketCarrier, place_for_copies
from slurmpod.operations.copying.copier import Copier
from slurmpod.operations.copying.copy_job import Comparison
from slurmpod.problems import counted, first_of
from slurmpod.resolve import Resolved

DIFFERING_SHOWN = 10


def copied(copier: Copier, options: argparse.Namespace) -> bool:
    """Copy missing files, unless the user refuses to overwrite others."""
    job, known = copier.job, copier.compare()
    if not _may_replace(known, job.place, options):
        return False
    copier.copy(known)
    travelled = counted(len(known.lacking), "file") if known.lacking else "nothing"
    from_git = f" ({job.commit})" if job.commit else ""
    all_files = f"{counted(len(job.files), 'file')}, {job.size / 1e6:.1f} MB"
    say(f"{job.place} has {all_files}{from_git}; {travelled} had to be copied")
    return True


def bucket_for(resolved: Resolved) -> BucketCarrier | None:
    """Return the bucket for file transfer; None if nodes read no bucket."""
    place = place_for_copies(resolved)
    if not place:
        return None
    name, prefix = place
    return BucketCarrier(Bucket(clients_of(resolved.region), name), prefix, resolved.region)


def _may_replace(known: Comparison, place: str, options: argparse.Namespace) -> bool:
    """Ask before overwriting files on the cluster."""
    if not known.differing or options.yes:
        return True
    say(f"{place} has different content in {first_of(known.differing, DIFFERING_SHOWN)}")
    if not sys.stdin.isatty():
        say("nothing was copied: run it again with --yes to replace them")
        return False
    say("replace them? [y/N]")
    return sys.stdin.readline().strip().lower() in {"y", "yes"}

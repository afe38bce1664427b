"""`python -m embedded_aws`: serves one AWS account on a loopback port until Ctrl-C."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys

from embedded_aws.garbage import collect_garbage_rarely
from embedded_aws.interface import CloudOnlyPlatform
from embedded_aws.isolation import shell_lines
from embedded_aws.moto_setup import WrongMotoVersion
from embedded_aws.server import EmbeddedAws, PortInUse
from embedded_aws.shutdown import Shutdown

_ACCOUNT_DIGITS = 12


def main() -> None:
    """Serve, and print the variables that point a shell's AWS tools here."""
    collect_garbage_rarely()
    options = _options()
    ending = Shutdown(signal.SIGINT, signal.SIGTERM)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    try:
        aws = EmbeddedAws(
            account=options.account, region=options.region, port=options.port, seed=options.seed
        )
    except (PortInUse, WrongMotoVersion) as error:
        sys.exit(str(error))
    lines = [*shell_lines(os.environ, aws.environment())]
    with aws:
        aws.start(CloudOnlyPlatform())
        lines.append(f"# {aws.endpoint} serves account {aws.account}; press Ctrl-C to stop")
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()
        ending.wait()
    os._exit(0)  # threads of an unfinished deployment must not delay the exit


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m embedded_aws",
        description="Serve one AWS account on a loopback port until Ctrl-C.",
    )
    parser.add_argument("--port", type=int, help="default: any free port")
    parser.add_argument(
        "--account", type=_account, default="111122223333", help="12 digits; default: %(default)s"
    )
    parser.add_argument("--region", default="us-west-2", help="default: %(default)s")
    parser.add_argument("--seed", help="any text; the same seed yields the same ids")
    return parser.parse_args()


def _account(text: str) -> str:
    if len(text) != _ACCOUNT_DIGITS or not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not {_ACCOUNT_DIGITS} digits")
    return text


if __name__ == "__main__":
    main()

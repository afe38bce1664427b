"""The app of one environment without the cdk-nag review: `python -m benchmarks.without_nag FILE`.

Beside the real app it shows what the review costs, and alone how synthesis grows.
"""

import json
import os
import sys
from pathlib import Path

from slurmpod.model.loader import load
from slurmpod.rendering import render_bundle
from slurmpod.resolve import resolve
from stacks.build import build_app

(file,) = sys.argv[1:]
loaded = load(Path(file))
if loaded.environment is None:
    raise SystemExit(f"{file} has errors: slurmpod validate {file}")
resolved = resolve(loaded.environment)
context = json.loads(os.environ.get("CDK_CONTEXT_JSON", "{}"))
build_app(resolved, render_bundle(resolved), context=context).synth()

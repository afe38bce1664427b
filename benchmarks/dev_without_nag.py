"""The app of environments/dev.yaml without the cdk-nag review, to see what the review costs."""

import json
import os
from pathlib import Path

from slurmpod.model.loader import load
from slurmpod.rendering import render_bundle
from slurmpod.resolve import resolve
from stacks.build import build_app

loaded = load(Path(__file__).parents[1] / "environments/dev.yaml")
if loaded.environment is None:
    raise SystemExit("environments/dev.yaml has errors: slurmpod validate environments/dev.yaml")
resolved = resolve(loaded.environment)
context = json.loads(os.environ.get("CDK_CONTEXT_JSON", "{}"))
build_app(resolved, render_bundle(resolved), context=context).synth()

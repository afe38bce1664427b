"""The exporter is no package of the project: nodes run it from a folder of their own."""

from __future__ import annotations

import sys
from pathlib import Path

SCRIPTS = Path(__file__).parents[3] / "lifecycle_scripts"
sys.path.insert(0, str(SCRIPTS))

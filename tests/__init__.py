"""The tests. What Python may keep is said here, before pytest imports anything for them."""

from __future__ import annotations

import os
import sys

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
"""Images of containers often set it. Each of the many commands that tests start would then compile
this project anew, which is up to a third of what a command takes, and so would every process of
pytest with the tests and with Hypothesis, whose assertions pytest rewrites."""

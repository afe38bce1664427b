"""The least that a program with a pydantic model and a YAML file does: the yardstick.

`import pydantic` alone loads none of its models: they are loaded when a program first uses one.
"""

from __future__ import annotations

import yaml
from pydantic import BaseModel, Field


class Settings(BaseModel):
    """One field with a limit."""

    count: int = Field(ge=1)


Settings.model_validate(yaml.safe_load("count: 2"))

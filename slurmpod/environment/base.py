"""The common base of all sections of an environment."""

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A mapping in an environment's YAML: unknown keys refused, values never coerced, immutable.

    Fields declare type and limits, and a docstring below each says what it means; from these come
    the checks, the texts of the error messages and the JSON Schema for editors. What relates
    several fields is a rule. Validators are built when first used: that halves the start-up time.
    A section that may be left out is then made with `model_construct`, which needs none of its own.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

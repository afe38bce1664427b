"""Fields whose values AWS may extend: those that are known, and others of their form.

An unknown value passes here, with a warning by rule NEW-001. If it is one letter away from a known
one, it is a typo and an error.
"""

from __future__ import annotations

import re
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from slurmpod.environment.facts import Fact, fact
from slurmpod.environment.suggestion import is_mistyped
from slurmpod.value import Value

NOT_OF_THE_FORM = "not_of_the_form"


class Known(Value):
    """Known values of a field, as a part of its type: the name of a fact."""

    name: str

    @property
    def fact(self) -> Fact:
        """The values, their date and their form."""
        return fact(self.name)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Return the schema of the field, with a check of the value's form."""
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Return the known values, which editors suggest, and the form of others."""
        found = handler(schema)
        kinds = found.get("anyOf", [found])
        others = next(each for each in kinds if each.get("type") in ("string", "integer"))
        is_text = others["type"] == "string"
        form = {"pattern": f"^({self.fact.form})$"} if is_text else {"minimum": 1}
        known = {"enum": list(self.fact.values if is_text else self.fact.numbers)}
        rest = [each for each in kinds if each is not others]
        return {"anyOf": [known, {**others, **form}, *rest]}

    def _checked(self, value: str | int | None) -> str | int | None:
        if value is None or self.knows(value) or self._may_be_new(str(value)):
            return value
        raise PydanticCustomError(NOT_OF_THE_FORM, "the value does not have a form that AWS uses")

    def knows(self, value: str | int) -> bool:
        """Return whether a value is one of those that are known."""
        return str(value) in self.fact.values

    def _may_be_new(self, value: str) -> bool:
        has_form = re.fullmatch(self.fact.form, value) is not None
        return has_form and not any(is_mistyped(value, each) for each in self.fact.values)

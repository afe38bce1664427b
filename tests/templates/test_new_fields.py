"""A new optional field with a default changes nothing of an environment that does not set it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from slurmpod.cli.environment import sound_environment
from slurmpod.environment.base import FILE_SYSTEM_AGAIN
from slurmpod.environment.descriptions import all_sections
from slurmpod.environment.monitoring import Notify
from slurmpod.reading.read import _form
from tests.environment_files import FILES
from tests.templates.synthesis import synthesize, synthesized_file

NAME, DEFAULT = "added_by_an_upgrade", 5


@contextmanager
def a_new_field_in_every_section() -> Iterator[None]:
    """Add the field that would do most: its change replaces file systems.

    `Notify` is left out, because each of its fields is a severity.
    """
    sections = [section for section in all_sections() if section is not Notify]
    field = FieldInfo(annotation=int, default=DEFAULT)
    field.metadata.append(FILE_SYSTEM_AGAIN)
    for section in sections:
        section.__pydantic_fields__[NAME] = field
    _build_again(sections)
    try:
        yield
    finally:
        for section in sections:
            del section.__pydantic_fields__[NAME]
        _build_again(sections)


def _build_again(sections: list[type[BaseModel]]) -> None:
    """Build the validators of sections before those of the sections that have them inside."""
    for section in reversed(sections):
        section.model_rebuild(force=True)
    _form.cache_clear()


@pytest.mark.parametrize("name", FILES)
def test_a_new_field_with_a_default_changes_no_template(name: str) -> None:
    before = synthesized_file(name).templates
    with a_new_field_in_every_section():
        resolved = sound_environment(FILES[name]).resolved
        after = synthesize(resolved).templates
        written = resolved.environment.storage
    assert getattr(written, NAME) == DEFAULT
    assert after == before

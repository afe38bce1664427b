"""Every field of an environment says what a change of it does, or its class is not even made."""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import Field, create_model

from slurmpod.environment.base import IN_PLACE, Section
from slurmpod.environment.lustre import Lustre


@pytest.mark.parametrize("base", [Section, Lustre])
def test_a_field_without_an_effect_is_named_with_its_file(base: type[Section]) -> None:
    limited = Annotated[int | None, Field(ge=1)]
    with pytest.raises(TypeError) as refused:
        create_model(
            "Cache",
            __base__=base,
            __module__="slurmpod.environment.cache",
            size_gib=(Annotated[int, IN_PLACE], 1),
            chunk_mib=(limited, None),
        )
    assert str(refused.value) == (
        "Cache.chunk_mib (slurmpod/environment/cache.py) has no Effect: annotate it with the "
        "effect of a change, such as chunk_mib: Annotated[int, IN_PLACE]; see docs/contributing.md"
    )

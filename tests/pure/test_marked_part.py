"""Generated parts of handwritten pages."""

from __future__ import annotations

import pytest

from tools.marked_part import with_part


def test_the_text_between_the_marks_is_replaced() -> None:
    assert with_part("a <b> old <e> z", "<b>", "<e>", " new ") == "a <b> new <e> z"


@pytest.mark.parametrize("page", ["no marks", "<b> no end", "<b> twice <b> <e>"])
def test_a_page_with_other_marks_is_not_touched(page: str) -> None:
    with pytest.raises(ValueError, match="and not once"):
        with_part(page, "<b>", "<e>", "new")

"""docs/options.md is what the rows say, and every option has a help."""

from __future__ import annotations

from conformance.settings import OPTIONS
from tests.house.options_page import PAGE, page


def test_the_page_is_made_of_the_rows() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == page(), "docs/options.md is out of date; `python -m tests.house.options_page` writes it"


def test_every_option_is_explained_and_named_once() -> None:
    assert all(row.help and row.long.startswith("--") for row in OPTIONS)
    assert len({row.name for row in OPTIONS}) == len({row.long for row in OPTIONS}) == len(OPTIONS)

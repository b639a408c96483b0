"""docs/hip-functions.md lists what the sources of the emulated runtime have."""

from __future__ import annotations

from tests.house.hip_functions_page import PAGE, page


def test_the_page_lists_the_functions_that_are_emulated() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tests.house.hip_functions_page"

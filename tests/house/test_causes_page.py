"""docs/causes.md is what causes.yaml and the planted kernels say."""

from __future__ import annotations

from conformance.report.causes.table import CAUSES
from tests.house.causes_page import PAGE, page


def test_the_page_is_made_of_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tests.house.causes_page"


def test_most_causes_have_an_example() -> None:
    assert page().count("```cpp") > len(CAUSES) // 2

"""docs/environment.md says what the table of variables says, and the table what our runtime does."""

from __future__ import annotations

import re

from conformance.environment import VARIABLES
from conformance.files import PACKAGE
from tests.house.environment_page import PAGE, page


def test_the_page_is_made_of_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tests.house.environment_page"


def test_the_bounds_are_those_of_the_runtime() -> None:
    text = (PACKAGE / "runtimes" / "cpu" / "runtime" / "options.cpp").read_text(encoding="utf-8")
    limit = re.search(r"max_workers = (\d+)", text)
    assert limit is not None
    text = text.replace("max_workers", limit[1]).replace("1 << 30", str(1 << 30))
    rows = re.findall(r'{"(\w+)", &Options::\w+, (\d+), (\d+), (true|false)', text)
    assert len(rows) == 6
    known = {variable.name: variable.allowed for variable in VARIABLES}
    for key, low, high, two in rows:
        words = f"{low} or {high}" if two == "true" else f"a whole number from {low} to {high}"
        assert known[f"HIPCPU_{key.upper()}"] == words

"""Pages of docs/ that must agree with the code."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from documented import PAGES

from conformance.cases import FAMILIES
from conformance.cases.layouts import LAYOUT_NAMES
from conformance.cases.row_patterns import ROW_PATTERN_NAMES
from conformance.cases.values import VALUE_NAMES
from conformance.files import PACKAGE, ROOT
from conformance.record.schema import SCHEMA, schema_text

DOCS = ROOT / "docs"


def test_the_schema_of_records_is_made_of_the_models() -> None:
    assert SCHEMA.read_text(encoding="utf-8") == schema_text(), "run python -m conformance.record.schema"


def test_every_variable_of_the_harness_is_on_the_page() -> None:
    page = (DOCS / "environment.md").read_text(encoding="utf-8")
    # Macros of our own HIP headers have the same prefix and are not variables.
    macros = PACKAGE / "toolchains" / "include"
    sources = [
        path for path in PACKAGE.rglob("*") if path.suffix in {".py", ".cpp", ".h"} and macros not in path.parents
    ]
    names = {name for path in sources for name in re.findall(r"\bCANDLE_PARITY_[A-Z_]+", path.read_text("utf-8"))}
    assert "CANDLE_PARITY_CACHE" in names
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(tuple(FAMILIES), id="launch families"),
        pytest.param(LAYOUT_NAMES, id="layouts"),
        pytest.param(VALUE_NAMES, id="values"),
        pytest.param(ROW_PATTERN_NAMES, id="marks"),
    ],
)
def test_every_name_in_case_ids_is_on_the_page(names: tuple[str, ...]) -> None:
    page = (DOCS / "cases.md").read_text(encoding="utf-8")
    assert [name for name in names if f"`{name}`" not in page] == []


def anchors(page: Path) -> set[str]:
    """The addresses of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)", page.read_text(encoding="utf-8")):
        if "://" not in link:
            name, _, heading = link.partition("#")
            target = page.parent / name if name else page
            assert target.exists(), link
            assert not heading or heading in anchors(target), link


def test_every_page_is_listed() -> None:
    listed = (DOCS / "README.md").read_text(encoding="utf-8")
    assert [
        page.name
        for page in DOCS.rglob("*.md")
        if f"]({page.relative_to(DOCS)})" not in listed and page.name != "README.md"
    ] == []


@pytest.mark.parametrize("page", [ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))], ids=lambda page: page.name)
def test_a_page_begins_with_who_needs_it(page: Path) -> None:
    head, blank, *rest = page.read_text(encoding="utf-8").splitlines()
    assert head.startswith("# ")
    assert blank == ""
    assert rest[0].startswith("For ")


@pytest.mark.slow("reads every file of the package")
def test_messages_on_the_page_are_in_the_code() -> None:
    texts = [path.read_text(encoding="utf-8") for suffix in ("cpp", "yaml") for path in PACKAGE.rglob(f"*.{suffix}")]
    for path in PACKAGE.rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        texts += [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    code = "\n".join(texts)
    page = (DOCS / "troubleshooting.md").read_text(encoding="utf-8")
    first_columns = "\n".join(line.split(" | ")[0] for line in page.splitlines() if line.startswith("| `"))
    # Words in capitals and paths stand for what a message names.
    named = re.compile(r"(?:/dev)?/\w+|\b[A-Z_]+\b%?|\.\.\.")
    parts = [named.split(message) for message in re.findall(r"`([^`]+)`", first_columns)]
    assert len(parts) > 30
    assert [part for message in parts for part in message if part.strip(" :;,()") not in code] == []


def test_files_that_internals_names_are_there() -> None:
    page = (ROOT / "docs" / "internals.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:conformance|reference|specs|tests|docs)/[\w/.-]+)`", page)
    assert len(named) > 50
    assert [name for name in named if "MODULE" not in name and not (ROOT / name).exists()] == []

"""A new status, by the places that docs/internals.md names and by no others."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from conformance.record.model import Summary
from conformance.status import EXPLAINED, STATUSES
from tests.growing.tree import ROOT, Tree

ROW = """
    "slow": StatusRow(
        failed=True,
        launched=True,
        distance=1,
        urgency=4,
        sign="L",
        label="right, and far too slow",
        heading="Slow kernels",
        junit="failure",
        style="yellow",
    ),
}

FAILURES"""

PLACES = {"conformance/status.py", "conformance/record/model.py", "conformance/verdict/judge.py"}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A copy in which every kernel that would pass is slow."""
    tree = Tree.copied(tmp_path_factory.mktemp("slow"))
    tree.replace("conformance/status.py", '"known_failure", "not_run"\n]', '"known_failure", "not_run", "slow"\n]')
    tree.replace("conformance/status.py", "\n}\n\nFAILURES", ROW)
    tree.replace("conformance/record/model.py", "    not_run: Count\n", "    not_run: Count\n    slow: Count = 0\n")
    passes = 'counts.failed_status if counts.failed else "pass", message'
    tree.replace("conformance/verdict/judge.py", passes, passes.replace('"pass"', '"slow"'))
    return tree


RECIPE = (ROOT / "docs" / "internals.md").read_text(encoding="utf-8").partition("### A status")[2]


def lists_several(tree: ast.AST) -> bool:
    """Whether something that ``tree`` holds is a list of several statuses, also with names of such lists."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            named = [one for one in node.elts if isinstance(one, ast.Constant) and one.value in STATUSES]
            listed = [one for one in node.elts if isinstance(one, ast.Starred) and ast.unparse(one.value) in LISTS]
            if len(named) + len(listed) == len(node.elts) > 1:
                return True
    return False


LISTS = {"ABSENT", "EXPLAINED", "FAILED_LAUNCHES", "FAILURES"}


@pytest.mark.slow("parses every module of the package")
def test_the_page_names_every_file_that_lists_several_statuses_and_no_other() -> None:
    files = sorted((ROOT / "conformance").rglob("*.py"))
    found = {file for file in files if lists_several(ast.parse(file.read_text(encoding="utf-8")))}
    rows = re.findall(r"^\| (`conformance.*?) \|", RECIPE.partition("| what it decides |")[2], re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([\w/.]+)`", row)}
    assert named == {file.relative_to(ROOT).as_posix() for file in found}


@pytest.mark.parametrize("status", STATUSES)
def test_a_status_is_in_every_place_of_the_page(status: str) -> None:
    assert f"`{status}`" in (ROOT / "docs/judging.md").read_text(encoding="utf-8")
    css = (ROOT / "conformance/report/html/page.css").read_text(encoding="utf-8")
    assert f".cell.{status} {{" in css
    assert ("passed" if status == "pass" else status) in Summary.model_fields
    advice = (ROOT / "docs/my-kernel-fails.md").read_text(encoding="utf-8")
    assert f"| `{status}` |" in advice or status not in EXPLAINED


def test_the_page_names_each_place(copy: Tree) -> None:
    named = set(re.findall(r"`(conformance/[\w/.]+)`", RECIPE))
    assert set(copy.changes()) == PLACES
    assert named >= PLACES


@pytest.mark.nightly("runs a changed copy of the packages in processes of their own")
def test_it_is_judged_recorded_and_reported(copy: Tree, tmp_path: Path) -> None:
    said, rows = copy.run("fill_u8")
    assert rows["fill_u8"]["status"] == "slow", said.stderr
    assert said.returncode == 1
    assert "1 slow" in said.stdout
    record = str(copy.path / "record.json")
    assert json.loads(Path(record).read_text())["summary"]["slow"] == 1
    names = {option: tmp_path / f"report.{option}" for option in ("md", "html", "summary", "junit")}
    done = copy.parity(
        "report", record, *(word for option, file in names.items() for word in (f"--{option}", str(file)))
    )
    assert done.returncode == 0, done.stderr
    assert "right, and far too slow" in names["html"].read_text()
    assert "slow" in names["summary"].read_text()
    assert '<failure type="slow"' in names["junit"].read_text()

"""A new status, by the places that docs/internals.md names and by no others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

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


def test_the_page_names_each_place(copy: Tree) -> None:
    recipe = (ROOT / "docs" / "internals.md").read_text(encoding="utf-8").partition("**A status**")[2]
    named = set(re.findall(r"`(conformance/[\w/.]+)`", recipe))
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

"""A new column is its value, a field and a row: added in a copy of the packages, record and tables have it."""

from __future__ import annotations

import re

import pytest

from tests.growing.tree import Tree

JUDGE, MODEL, TABLE = "conformance/verdict/judge.py", "conformance/outcome.py", "conformance/report/tally.py"
FIELD = '''    elements: Count = 0
    """Elements of outputs that were compared."""
'''
COUNTED = "        self.elements += sum(one.value.size for one in case.expected.values())\n"
ROW = '    FigureColumn("elements", lambda rows: f"{sum(row.elements for row in rows):,}"),\n'


@pytest.mark.nightly("runs a changed copy of the packages in processes of their own")
def test_a_column_of_record_and_tables_is_three_files(tree: Tree) -> None:
    tree.replace(JUDGE, "        margins = Margins()\n", "        margins = Margins()\n" + COUNTED)
    tree.replace(
        JUDGE,
        '            "status": status,\n',
        '            "status": status,\n            "elements": self.elements,\n',
    )
    tree.replace(JUDGE, "    def begin(self", "    elements = 0\n\n    def begin(self")
    tree.replace(MODEL, "    leak: str | None = None\n", FIELD + "    leak: str | None = None\n")
    tree.replace(TABLE, '    FigureColumn("", ', ROW + '    FigureColumn("", ')
    assert tree.changes().keys() == {JUDGE, MODEL, TABLE}
    assert sum(map(len, tree.changes().values())) <= 8

    said, rows = tree.run("uexp_f32", "--md", "report.md", "--html", "report.html")
    assert said.returncode == 0, said.stdout + said.stderr
    count = rows["uexp_f32"]["elements"]
    assert count > 1000
    head, row = (line.split() for line in said.stdout.splitlines()[1:3])  # behind the line that says what is judged
    assert row[head.index("elements")] == f"{count:,}"
    markdown = (tree.path / "report.md").read_text()
    assert "| Status | Elements |" in markdown
    assert re.search(rf"^\| \*\*unary\*\*.* \| {count:,} \|$", markdown, re.MULTILINE)
    html = (tree.path / "report.html").read_text()
    assert ">Elements</th>" in html
    assert f">{count:,}</td>" in html

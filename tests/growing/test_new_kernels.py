"""Kernels added to a copy of the repository, as CONTRIBUTING.md says, until they pass."""

from __future__ import annotations

import re

import pytest

from tests.growing.tree import Tree

DTYPES = "{f32,f64,f16,bf16,f8e4m3}"
OPERATION = "STEPWISE_OP(square, (x * x));"


@pytest.mark.slow("runs a changed copy of the packages in processes of their own")
def test_usquare_for_five_dtypes_is_five_lines_in_four_files(tree: Tree) -> None:
    new = tree.parity("new", f"usquare_{DTYPES}", "--like", "usqr_f32", "--line", "1", "--same-tolerance", "--write")
    assert (new.returncode, new.stderr) == (0, "")
    tree.insert("reference/unary.py", '    "sqr":', '    "square": lambda a, x: a.mul(x, x),')
    tree.insert("kernels/include/unary_ops.h", "STEPWISE_OP(sqr", OPERATION)
    kinds = ("bf16", "f16", "f32", "f64", "fp8_e4m3")
    tree.insert("kernels/unary.hip", "UNARY(sqr,", " ".join(f"UNARY(square, {kind})" for kind in kinds))
    changes = tree.changes()
    assert len(changes) == 4
    assert sum(map(len, changes.values())) == 5

    check = tree.parity("check", "--kernels", "kernels", "usquare_*")
    assert (check.returncode, check.stderr) == (0, "")
    assert "753 of Candle's 753 kernels by name, 753 with Candle's parameters; 0 findings, 0 warnings" in check.stdout
    _only(tree, "square")
    said, rows = tree.run("usquare_*")
    assert said.returncode == 0, said.stdout + said.stderr
    assert {name: row["status"] for name, row in rows.items()} == {f"usquare_{kind}": "pass" for kind in kinds}


def _only(tree: Tree, op: str) -> None:
    """Leave out the kernels of every other operation: compiling all of them takes long and shows nothing here."""
    path = tree.path / "kernels/unary.hip"
    lines = path.read_text().splitlines()
    others = re.compile(r"UNARY\w*\((?!name|" + op + r"\b)")
    path.write_text("\n".join(line for line in lines if not others.match(line)) + "\n")

"""Kernels and a module added to a copy of the repository, as CONTRIBUTING.md says, until they pass."""

from __future__ import annotations

import re

from tests.growing.tree import Tree

DTYPES = "{f32,f64,f16,bf16,f8e4m3}"
OPERATION = "STEPWISE_OP(square, (x * x));"
FAMILY = "conformance/cases/families/tripled.py"
REFERENCE = "reference/tripled.py"
KERNEL = "kernels/tripled.hip"
TEST = "tests/reference/test_tripled.py"
WRITTEN = {FAMILY, REFERENCE, KERNEL, TEST, "specs/tripled.yaml"}
KERNELS = ["tripled_f32", "tripled_f8e4m3"]


def test_usquare_for_five_dtypes_is_seven_lines_in_four_files(tree: Tree) -> None:
    new = tree.parity("new", f"usquare_{DTYPES}", "--like", "usqr_f32", "--same-tolerance", "--write")
    assert (new.returncode, new.stderr) == (0, "")
    tree.insert("reference/unary.py", '    "sqr":', '    "square": lambda a, x: a.mul(x, x),')
    tree.insert("kernels/include/unary_ops.h", "STEPWISE_OP(sqr", OPERATION)
    kinds = ("bf16", "f16", "f32", "f64", "fp8_e4m3")
    tree.insert("kernels/unary.hip", "UNARY(sqr,", " ".join(f"UNARY(square, {kind})" for kind in kinds))
    changes = tree.changes()
    assert len(changes) <= 4
    assert sum(map(len, changes.values())) <= 7

    check = tree.parity("check", "usquare_*")
    assert (check.returncode, check.stderr) == (0, "")
    assert "753 of Candle's 753 kernels by name, 753 with Candle's parameters; 0 findings, 0 warnings" in check.stdout
    _only(tree, "square")
    said, rows = tree.run("usquare_*")
    assert said.returncode == 0, said.stdout + said.stderr
    assert {name: row["status"] for name, row in rows.items()} == {f"usquare_{kind}": "pass" for kind in kinds}


NEW_MODULE = ["new", "tripled_{f32,f8e4m3}", "--module", "tripled", "--cuda", "tripled.cu", "--title", "Three times"]
TOLERANCE = ["--ulp", "0", "--source", "one product, rounded once"]
BODY = "  for (size_t i = threadIdx.x; i < numel; i += blockDim.x) out[i] = narrow<T>(widen(inp[i]) * 3);"
ANSWER = """a = ARITHMETIC[variant["dtype"]]
    return {"out": contiguous(out, a.store(a.mul(a.load(inp[: int(numel)]), a.number(3))))}"""
IMPORTS = "from reference.arithmetic import ARITHMETIC\nfrom reference.result import contiguous"


def test_a_module_says_what_is_missing_until_it_runs(tree: Tree) -> None:
    new = tree.parity(*NEW_MODULE, *TOLERANCE, "--write")
    assert (new.returncode, new.stderr) == (0, "")
    assert tree.changes().keys() == {*WRITTEN, "conformance/cases/__init__.py"}
    assert len(tree.changes()["conformance/cases/__init__.py"]) == 2

    said, rows = tree.run("tripled_*")
    assert said.returncode == 1
    assert {name: row["status"] for name, row in rows.items()} == dict.fromkeys(KERNELS, "compile_error")
    assert "kernels/tripled.hip: tripled is to be filled in" in said.stdout
    _fill(tree, KERNEL, r"#error [^\n]*", BODY)

    said, _ = tree.run("tripled_*")
    assert said.returncode == 2
    assert f"{FAMILY}: build is to be filled in: check that its arguments" in said.stderr
    _fill(tree, FAMILY, r"    raise ValueError\(.*?\n    \)\n", "")

    said, rows = tree.run("tripled_*")
    assert said.returncode == 2
    assert all(f"{REFERENCE}: tripled is to be filled in" in row["message"] for row in rows.values())
    test = tree.says("pytest", "-q", "-p", "no:cacheprovider", TEST)
    assert f"{TEST}: BY_HAND is to be filled in" in test.stdout
    assert "3 failed" in test.stdout
    _fill(tree, REFERENCE, r"raise NoReference\(.*(?=\n)", ANSWER)
    _fill(tree, REFERENCE, r"(?<=\n)from reference import NoReference", IMPORTS)
    row = '("tripled_f32", {"numel": 2, "inp": [1, 2], "out": [7, 7, 7]}, {"out": [3, 6, 7]})'
    _fill(tree, TEST, r"(?<== )\[\](?=\n)", f"[{row}]")

    said, rows = tree.run("tripled_*")
    assert said.returncode == 0, said.stdout + said.stderr
    assert {name: row["status"] for name, row in rows.items()} == dict.fromkeys(KERNELS, "pass")
    assert "3 passed" in tree.says("pytest", "-q", "-p", "no:cacheprovider", TEST).stdout
    check = tree.parity("check", "--module", "tripled")
    assert "0 findings, 0 warnings" in check.stdout

    tree.replace(KERNEL, "* 3)", "* 4)")
    said, rows = tree.run("tripled_*")
    assert said.returncode == 1
    assert {row["status"] for row in rows.values()} == {"fail"}


def _fill(tree: Tree, name: str, pattern: str, text: str) -> None:
    """Replace what ``pattern`` matches in a file, once."""
    path = tree.path / name
    filled, count = re.subn(pattern, lambda _: text, path.read_text(), flags=re.DOTALL)
    assert count == 1
    path.write_text(filled)


def _only(tree: Tree, op: str) -> None:
    """Leave out the kernels of every other operation: compiling all of them takes long and shows nothing here."""
    path = tree.path / "kernels/unary.hip"
    lines = path.read_text().splitlines()
    others = re.compile(r"UNARY\w*\((?!name|" + op + r"\b)")
    path.write_text("\n".join(line for line in lines if not others.match(line)) + "\n")

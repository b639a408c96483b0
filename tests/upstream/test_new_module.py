"""``candle-parity new --module``: the files of a new module, printed; test_in_a_copy.py writes and fills them in."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from conformance.cli.main import main
from conformance.files import ROOT
from conformance.spec.load import load_specs
from conformance.upstream.bound import UNSET, Bound
from conformance.upstream.skeleton import Module, skeleton

NEW = ["new", "tripled_{f32,f16}", "--module", "tripled", "--cuda", "tripled.cu"]
PARAMS = "n: scalar u32, scale: scalar {dtype}, src: in void*, ids: in u32*, acc: inout {dtype}*, out: out f8e4m3*"
LINES = {"scaled_f32": 3, "scaled_fp8_e4m3": 9, "halved_f32": 5}
EXACT = Bound("0", "0", "bit copy")


def made(lines: dict[str, int] = LINES, params: str | None = PARAMS, bound: Bound = EXACT) -> dict[str, str]:
    files = skeleton(ROOT, Module("scaled", "scaled.cu", None, lines), params, bound)
    return {path.as_posix(): text for path, text in files.items()}


def test_without_write_the_files_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(NEW) == 0
    out = capsys.readouterr().out
    for name in (
        "specs/tripled.yaml",
        "reference/tripled.py",
        "kernels/tripled.hip",
        "tests/reference/test_tripled.py",
    ):
        assert f"# {name}\n" in out
        assert not (ROOT / name).exists()
    assert (
        "# conformance/cases/__init__.py, in the lists that are there\n    tripled,\n    **tripled.FAMILIES,\n" in out
    )
    assert "specs/tripled.yaml: set the tolerance" in out


def test_other_parameters_and_families(tmp_path: Path) -> None:
    files = made()
    (tmp_path / "scaled.yaml").write_text(files["specs/scaled.yaml"])
    kernels = load_specs(tmp_path).kernels
    assert list(kernels) == list(LINES)
    assert kernels["scaled_fp8_e4m3"].upstream == "scaled.cu:9"
    found = [(p.name, p.role, p.dtype, p.pointer) for p in kernels["scaled_fp8_e4m3"].params]
    assert found == [
        ("n", "scalar", "u32", False),
        ("scale", "scalar", "f8e4m3", False),
        ("src", "in", "void*", True),
        ("ids", "in", "u32", True),
        ("acc", "inout", "f8e4m3", True),
        ("out", "out", "f8e4m3", True),
    ]
    parameters = "u32 n, f8 scale, const void *src, const u32 *ids, f8 *acc, f8 *out"
    assert (
        f"scaled_fp8_e4m3({parameters}) {{\n  scaled<f8>(n, scale, src, ids, acc, out);\n}}"
        in files["kernels/scaled.hip"]
    )
    for name, text in files.items():
        if name.endswith(".py"):
            ast.parse(text)
    functions = ast.parse(files["reference/scaled.py"]).body
    assert [node.name for node in functions if isinstance(node, ast.FunctionDef)] == ["scaled", "halved"]


def test_a_tolerance_that_is_not_given_does_not_load() -> None:
    assert "{ulp: TODO, library_ulp: TODO, source: TODO}" in made(bound=UNSET)["specs/scaled.yaml"]


def test_the_list_of_families_stays_sorted() -> None:
    added = made()["conformance/cases/__init__.py"]
    names = added.split("from conformance.cases.families import (\n")[1].split(")")[0].split()
    assert "scaled," in names
    assert names == sorted(names)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ([*NEW, "--write"], "--write needs the tolerance of module tripled's kernels; give --ulp N --source TEXT"),
        (["new", "a_f32", "--module", "a"], "--module a needs --cuda FILE.cu"),
        (["new", "a_f32", "--module", "a", "--cuda", "a.hip"], "'a.hip' is not a file of candle-kernels/src"),
        (["new", "a_f32", "--module", "A-b", "--cuda", "a.cu"], "module 'A-b' is not a name"),
        (["new", "lambda_f32", "--module", "a", "--cuda", "a.cu"], "kernel 'lambda_f32' is not FAMILY_DTYPE"),
        (["new", "plain", "--module", "a", "--cuda", "a.cu"], "kernel 'plain' is not FAMILY_DTYPE"),
        (["new", "a_f32", "--module", "fill", "--cuda", "a.cu"], "specs/fill.yaml, conformance/cases/families/fill.py"),
        (
            ["new", "a_f32", "--module", "library", "--cuda", "a.cu"],
            "reference/library.py, tests/reference/test_library.py: there already",
        ),
        (["new", "where_f32", "--module", "a", "--cuda", "a.cu"], "launch family 'where' is there already"),
        (["new", "uexp_f32", "--module", "a", "--cuda", "a.cu"], "kernel uexp_f32 (unary.cu:192) is there already"),
        ([*NEW, "--params", "n: scalar size_t*"], "a scalar has no *"),
        ([*NEW, "--params", "n: scalar size_t, x"], "'x' is not a parameter; give NAME: scalar TYPE"),
        ([*NEW, "--params", "in: in f32*"], "'in' is a word of Python's"),
        ([*NEW, "--params", "n: scalar size"], "specs/tripled.yaml:12: parameter 'n' has the unknown dtype 'size'"),
        ([*NEW, "--same-tolerance"], "--same-tolerance goes with --like"),
        ([*NEW, "--specs", "x"], "--specs does not go with --module"),
    ],
)
def test_bad_words(capsys: pytest.CaptureFixture[str], words: list[str], problem: str) -> None:
    assert main(words) == 2
    assert problem in capsys.readouterr().err

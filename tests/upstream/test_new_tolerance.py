"""``candle-parity new``: a tolerance is given, asked for or left to be set, and never copied without a word."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import pytest

from conformance.cli.main import main
from conformance.spec import SpecError
from conformance.spec.load import load_specs
from tests.upstream.edits import added_lines

NEW = ["new", "usquare_{f32,f16}", "--like", "usqr_f32", "--line", "9"]


class Terminal(StringIO):
    """A terminal at which someone types."""

    def isatty(self) -> bool:
        return True


def at_a_terminal(monkeypatch: pytest.MonkeyPatch, typed: Sequence[str]) -> Terminal:
    shown = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal("".join(f"{line}\n" for line in typed)))
    monkeypatch.setattr(sys, "stderr", shown)
    return shown


@pytest.mark.slow("starts the command")
def test_write_without_a_tolerance_is_refused(specs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*NEW, "--specs", str(specs), "--write"]) == 2
    error = capsys.readouterr().err
    assert "--write needs the tolerance of usquare_f32, usquare_f16" in error
    assert "--ulp N --source TEXT" in error
    assert "--same-tolerance where that of usqr_f32 holds" in error
    assert added_lines(specs, "unary") == []


def test_without_one_the_edit_is_a_spec_that_does_not_load(specs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(NEW) == 0
    out = capsys.readouterr().out
    row, rule = out.splitlines()[1:3]
    assert re.search(r"specs/unary\.yaml:\d+: set the tolerance", out)
    text = (specs / "unary.yaml").read_text()
    text = text.replace(
        "    bench: *unary_bench\n    tolerance:\n", f"{row}\n    bench: *unary_bench\n    tolerance:\n{rule}\n"
    )
    (specs / "unary.yaml").write_text(text)
    with pytest.raises(SpecError, match=r"tolerance\.0\.ulp is still TODO; set it: an integer from 0 to 16"):
        load_specs(specs)
    (specs / "unary.yaml").write_text(text.replace("ulp: TODO", "ulp: 0"))
    with pytest.raises(SpecError, match=r"tolerance\.0\.source is still TODO; set it: where the bound comes from"):
        load_specs(specs)
    (specs / "unary.yaml").write_text(text.replace("ulp: TODO", "ulp: 0").replace("source: TODO", "source: a product"))
    assert load_specs(specs).kernels["usquare_f16"].tolerance.source == "a product"


def test_by_dtype(specs: Path) -> None:
    given = ["--ulp", "f32:0,f16:1", "--library-ulp", "2", "--source", "a product, then: [a] sum"]
    assert main([*NEW, *given, "--specs", str(specs), "--write"]) == 0
    kernels = load_specs(specs).kernels
    found = [kernels[name].tolerance for name in ("usquare_f32", "usquare_f16")]
    assert [(one.ulp, one.library_ulp, one.source) for one in found] == [
        (0, 2, "a product, then: [a] sum"),
        (1, 2, "a product, then: [a] sum"),
    ]


def test_what_joins_a_rule_is_told_so(specs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["new", "fill_i32", "--like", "fill_u8", "--line", "9", "--specs", str(specs), "--write"]
    assert main([*words, "--ulp", "1", "--source", "a guess"]) == 2
    assert "fill.yaml: a rule of the stanza covers the new kernels as it is" in capsys.readouterr().err
    assert main(words) == 0
    assert "# tolerance: a rule of the stanza covers the new kernels as it is" in capsys.readouterr().out


def test_a_stanza_has_the_given_one(specs: Path) -> None:
    words = ["new", "uexp_u8", "--like", "uexp_f32", "--line", "9", "--specs", str(specs)]
    assert main([*words, "--ulp", "0", "--source", "a table", "--write"]) == 0
    tolerance = load_specs(specs).kernels["uexp_u8"].tolerance
    assert (tolerance.ulp, tolerance.library_ulp, tolerance.source) == (0, 0, "a table")


@pytest.mark.slow("starts the command")
def test_it_is_asked_for_at_a_terminal(specs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = at_a_terminal(monkeypatch, ["99", "0", "a guess", "0", "0", "one product"])
    assert main([*NEW, "--specs", str(specs), "--write"]) == 0
    assert "Tolerance of usquare_f32, usquare_f16" in shown.getvalue()
    assert "ulp '99' is not a number of steps; give 0 to 16" in shown.getvalue()
    tolerance = load_specs(specs).kernels["usquare_f16"].tolerance
    assert (tolerance.ulp, tolerance.library_ulp, tolerance.source) == (0, 0, "one product")


def test_no_answer_is_no_tolerance(specs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = at_a_terminal(monkeypatch, ["0", "0", ""])
    assert main([*NEW, "--specs", str(specs), "--write"]) == 2
    assert "--write needs the tolerance" in shown.getvalue()
    assert added_lines(specs, "unary") == []


@pytest.mark.slow("adds a kernel to a copy of the specs in processes of their own")
@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--ulp", "0"], "half a tolerance"),
        (["--source", "a product"], "half a tolerance"),
        (["--ulp", "17", "--source", "a"], "ulp '17' is not a number of steps; give 0 to 16"),
        (["--ulp", "f32:x", "--source", "a"], "ulp 'x' is not a number of steps"),
        (["--ulp", ":1,f16:2", "--source", "a"], "ulp ':1,f16:2' is not understood"),
        (["--ulp", "0", "--source", " "], "the tolerance has no source"),
        (["--ulp", "0", "--source", "TODO"], "the tolerance has no source"),
        (["--ulp", "f32:0", "--source", "a"], "no value for dtype 'f16'"),
        (["--same-tolerance", "--ulp", "0"], "--same-tolerance goes without"),
    ],
)
def test_bad_tolerances(capsys: pytest.CaptureFixture[str], words: list[str], problem: str) -> None:
    assert main([*NEW, *words]) == 2
    assert problem in capsys.readouterr().err


def test_the_rules_of_several_dtypes_are_all_told(capsys: pytest.CaptureFixture[str], specs: Path) -> None:
    text = (specs / "fill.yaml").read_text()
    rule = "      - {ulp: 0, library_ulp: 0, source: bit copy}"
    rules = "      - {ulp: {i32: 0, i16: 1, DTYPES}, library_ulp: 0, source: made up}"
    dtypes = ", ".join(f"{name}: 0" for name in ("u8", "u32", "i64", "f32", "f64", "f16", "bf16", "f8e4m3"))
    (specs / "fill.yaml").write_text(text.replace(rule, rules.replace("DTYPES", dtypes)))
    assert main(["new", "fill_{i32,i16}", "--like", "fill_u8", "--specs", str(specs)]) == 0
    assert "(ulp 0, library_ulp 0, source: made up; ulp 1, library_ulp 0, source: made up)" in capsys.readouterr().out


TOY = """module: toy
title: Toys
source: toy.cu
source_lines: 9
families:
  - family: unary
    name: "{op}_{dtype}"
    params: {out: "out {dtype}*"}
    table:
      rows: op
      columns: {dtype: [f32, f16]}
      lines:
        a: [1, 2]
    tolerance:
      - {when: {dtype: [f32]}, ulp: 0, library_ulp: 0, source: exact}
      - {when: {dtype: [f16], op: [a]}, ulp: 1, library_ulp: 0, source: rounded twice}
"""


def test_kernels_of_which_a_rule_covers_some_are_a_stanza(tmp_path: Path) -> None:
    (tmp_path / "toy.yaml").write_text(TOY)
    words = ["new", "b_{f32,f16}", "--like", "a_f16", "--line", "9", "--specs", str(tmp_path)]
    assert main([*words, "--ulp", "2", "--source", "a table", "--write"]) == 0
    kernels = load_specs(tmp_path).kernels
    assert {kernels[name].tolerance.source for name in ("b_f32", "b_f16")} == {"a table"}
    assert kernels["a_f16"].tolerance.source == "rounded twice"


def test_a_rule_over_two_axes_is_made_for_both(tmp_path: Path) -> None:
    (tmp_path / "toy.yaml").write_text(TOY)
    words = ["new", "b_f16", "--like", "a_f16", "--line", "9", "--specs", str(tmp_path)]
    assert main([*words, "--ulp", "2", "--source", "a table", "--write"]) == 0
    text = (tmp_path / "toy.yaml").read_text()
    assert "      - {when: {dtype: [f16], op: [b]}, ulp: 2, library_ulp: 0, source: a table}" in text
    assert "        b: [~, 9]" in text

"""``candle-parity new``: the smallest edit of the spec, and what else a kernel needs."""

from __future__ import annotations

import difflib
import shutil
from pathlib import Path

import pytest

from conformance.cli.main import main
from conformance.spec.load import SPEC_FOLDER, load_specs


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SPEC_FOLDER, tmp_path / "specs"))


def added_lines(specs: Path, module: str) -> list[str]:
    """The lines of a spec that are not in the repository's."""
    before = (SPEC_FOLDER / f"{module}.yaml").read_text().splitlines()
    after = (specs / f"{module}.yaml").read_text().splitlines()
    return [line[2:] for line in difflib.ndiff(before, after) if line.startswith("+ ")]


@pytest.mark.parametrize(
    ("name", "like", "module", "expected"),
    [
        ("cast_i64_f16", "cast_i64_f32", "cast", ["        i64:               [   ~, 1234, 214, 215,"]),
        ("fill_i32", "fill_u8", "fill", ["f8e4m3: 84, i32: 1234}"]),
        ("s_i16_f32", "s_u8_f32", "indexing", ["        i16: [~, ~, 1234, ~, ~, ~, ~]"]),
        (
            "usoftplus_f32",
            "uexp_f32",
            "unary",
            ["        softplus: [~, ~, 1234, ~, ~]", "      - when: {op: [exp, softplus]}"],
        ),
        ("uneg2_fp8_e4m3", "uneg_fp8_e4m3", "unary", ["        neg2: [~, ~, ~, ~, 1234]", "op: [neg, neg2, abs"]),
        ("mul_mat_q8_K", "mul_mat_q4_0", "quantized", ["q6_K: 4630, q8_K: 1234}"]),
    ],
)
def test_a_name_that_fits_becomes_an_entry(
    specs: Path, capsys: pytest.CaptureFixture[str], name: str, like: str, module: str, expected: list[str]
) -> None:
    known = load_specs(specs).kernels
    assert main(["new", name, "--like", like, "--line", "1234", "--specs", str(specs), "--write"]) == 0
    lines = added_lines(specs, module)
    assert len(lines) == len(expected)
    for line, part in zip(lines, expected, strict=True):
        assert part in line
    kernels = load_specs(specs).kernels
    assert kernels.keys() - known.keys() == {name}
    assert kernels[name].upstream == f"{module}.cu:1234"
    assert kernels[name].tolerance == known[like].tolerance
    assert [p.name for p in kernels[name].params] == [p.name for p in known[like].params]
    assert expected[0].strip() in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "like", "dtype"),
    [
        ("uexp_u8", "uexp_f32", "u8"),
        ("s_u8_f8_e4m3", "s_u8_f32", "f8e4m3"),
        ("rope_q_bf16", "rope_bf16", "bf16"),
        ("quantize_q9_0", "quantize_q8_1", "f32"),
        ("something_else", "uexp_f32", "f32"),
    ],
)
def test_any_other_name_becomes_a_stanza(specs: Path, name: str, like: str, dtype: str) -> None:
    known = load_specs(specs).kernels
    assert main(["new", name, "--like", like, "--specs", str(specs), "--write"]) == 0
    kernel = load_specs(specs).kernels[name]
    assert kernel.variant["dtype"] == dtype
    assert (kernel.family, kernel.launch) == (known[like].family, known[like].launch)
    was, now = known[like].variant["dtype"], kernel.variant["dtype"]
    expected = [(p.name, p.role, now if p.dtype == was and was != now else p.dtype) for p in known[like].params]
    assert [(p.name, p.role, p.dtype) for p in kernel.params] == expected


def test_without_write_the_specs_stay(specs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "fill_i32", "--like", "fill_u8", "--specs", str(specs)]) == 0
    assert added_lines(specs, "fill") == []
    out = capsys.readouterr().out
    assert "i32: 1}" in out
    for part in ("kernels/fill.hip", "reference/fill.py", "launch family fill", "specs/fill.yaml:18"):
        assert part in out


@pytest.mark.parametrize(
    ("name", "like", "problem"),
    [
        ("uexp_f32", "ulog_f32", "is there already"),
        ("a-b", "uexp_f32", "is no C name"),
        ("x", "utan_f32", "matches no kernel"),
        ("x", "uexp_f*", "matches 4 kernels"),
    ],
)
def test_bad_names(capsys: pytest.CaptureFixture[str], name: str, like: str, problem: str) -> None:
    assert main(["new", name, "--like", like]) == 2
    assert problem in capsys.readouterr().err

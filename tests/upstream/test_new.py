"""``candle-parity new``: the smallest edit of the spec, and what else a kernel needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.cli.main import main
from conformance.spec.load import load_specs
from tests.upstream.edits import added_lines

USQUARE = ["usquare_f32", "usquare_f64", "usquare_f16", "usquare_bf16", "usquare_fp8_e4m3"]


@pytest.mark.slow("adds a kernel to a copy of the specs in processes of their own")
@pytest.mark.parametrize(
    ("name", "like", "module", "expected"),
    [
        ("cast_i64_f16", "cast_i64_f32", "cast", ["        i64:               [   ~, 1234, 214, 215,"]),
        ("fill_i32", "fill_u8", "fill", ["f8e4m3: 84, i32: 1234}"]),
        ("s_i16_f32", "s_u8_f32", "indexing", ["        i16:           [   ~,   ~, 1234,   ~,   ~,"]),
        (
            "usoftplus_f32",
            "uexp_f32",
            "unary",
            ["        softplus:      [   ~,   ~, 1234,   ~,      ~]", "      - when: {op: [exp, softplus]}"],
        ),
        (
            "uneg2_fp8_e4m3",
            "uneg_fp8_e4m3",
            "unary",
            ["        neg2:          [   ~,   ~,   ~,   ~,   1234]", "op: [neg, neg2, abs"],
        ),
        ("mul_mat_q8_K", "mul_mat_q4_0", "quantized", ["q6_K: 4630, q8_K: 1234}"]),
    ],
)
def test_a_name_that_fits_becomes_an_entry(
    specs: Path, capsys: pytest.CaptureFixture[str], name: str, like: str, module: str, expected: list[str]
) -> None:
    known = load_specs(specs).kernels
    words = ["--line", "1234", "--same-tolerance", "--specs", str(specs), "--write"]
    assert main(["new", name, "--like", like, *words]) == 0
    lines = added_lines(specs, module)
    assert len(lines) == len(expected)
    for line, part in zip(lines, expected, strict=True):
        assert part in line
    kernels = load_specs(specs).kernels
    assert kernels.keys() - known.keys() == {name}
    assert kernels[name].upstream == f"{module}.cu:1234"
    assert kernels[name].tolerance == known[like].tolerance
    assert [p.name for p in kernels[name].params] == [p.name for p in known[like].params]
    out = capsys.readouterr().out
    assert all(line in out for line in lines)


@pytest.mark.slow("adds a kernel to a copy of the specs in processes of their own")
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
    assert main(["new", name, "--like", like, "--line", "9", "--same-tolerance", "--specs", str(specs), "--write"]) == 0
    kernel = load_specs(specs).kernels[name]
    assert kernel.variant["dtype"] == dtype
    assert (kernel.family, kernel.launch) == (known[like].family, known[like].launch)
    assert kernel.tolerance == known[like].tolerance
    was, now = known[like].variant["dtype"], kernel.variant["dtype"]
    expected = [(p.name, p.role, now if p.dtype == was and was != now else p.dtype) for p in known[like].params]
    assert [(p.name, p.role, p.dtype) for p in kernel.params] == expected


@pytest.mark.slow("adds a kernel to a copy of the specs in processes of their own")
@pytest.mark.parametrize(
    "names", [["usquare_{f32,f64,f16,bf16,f8e4m3}"], USQUARE, ["usquare_f32", "usquare_{f64,f16}", *USQUARE]]
)
def test_several_dtypes_are_one_row(specs: Path, names: list[str]) -> None:
    lines = "f32:31,f64:32,f16:20,bf16:1,f8e4m3:1000"
    words = ["--like", "usqr_f32", "--line", lines, "--ulp", "0", "--source", "one product", "--specs", str(specs)]
    assert main(["new", *names, *words, "--write"]) == 0
    assert added_lines(specs, "unary") == [
        "        square:        [   1,  20,  31,  32,   1000]",
        "      - {when: {op: [square]}, ulp: 0, library_ulp: 0, source: one product}",
    ]
    kernels = load_specs(specs).kernels
    assert kernels.keys() - load_specs().kernels.keys() == set(USQUARE)
    assert kernels["usquare_f16"].upstream == "unary.cu:20"


def test_several_dtypes_are_entries_of_one_row(specs: Path) -> None:
    words = ["--like", "fill_u8", "--line", "9", "--specs", str(specs), "--write"]
    assert main(["new", "fill_{i32,i16}", *words]) == 0
    (line,) = added_lines(specs, "fill")
    assert "f8e4m3: 84, i32: 9, i16: 9}" in line


def test_several_dtypes_are_one_stanza(specs: Path) -> None:
    words = ["--like", "rope_bf16", "--line", "f32:7,f8e4m3:8", "--same-tolerance", "--specs", str(specs), "--write"]
    assert main(["new", "rope_q_f32", "rope_q_f8_e4m3", *words]) == 0
    kernels = load_specs(specs).kernels
    assert kernels["rope_q_f8_e4m3"].variant["dtype"] == "f8e4m3"
    assert kernels["rope_q_f8_e4m3"].upstream.endswith(":8")
    assert added_lines(specs, kernels["rope_q_f32"].module).count('    name: "rope_q_{dtype}"') == 1


def test_without_write_the_specs_stay(specs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "fill_i32", "--like", "fill_u8", "--specs", str(specs)]) == 0
    assert added_lines(specs, "fill") == []
    out = capsys.readouterr().out
    assert "i32: 1}" in out
    assert "# upstream line: not given; 1 stands in" in out
    for part in ("kernels/fill.hip", "reference/fill.py", "launch family fill", "specs/fill.yaml:19"):
        assert part in out


def test_an_operation_is_led_to_its_header(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new", "usquare_f32", "--like", "usqr_f32", "--same-tolerance"]) == 0
    assert "kernels/include/unary_ops.h: the operation itself, next to sqr" in capsys.readouterr().out


@pytest.mark.slow("adds a kernel to a copy of the specs in processes of their own")
@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["uexp_f32", "--like", "ulog_f32"], "kernel uexp_f32 (unary.cu:192) is there already; give another name"),
        (["uexp_{f32,u8}", "--like", "ulog_f32"], "kernel uexp_f32 (unary.cu:192) is there already; leave out"),
        (["uexp_{f32,f16}", "--like", "ulog_f32"], "uexp_f32 (unary.cu:192), uexp_f16 (unary.cu:160) are there"),
        (["a-b", "--like", "uexp_f32"], "is not a C name"),
        (["uexp_{f32,", "--like", "uexp_f32"], "is not a C name"),
        (["x", "--like", "utan_f32"], "matches no kernel"),
        (["x", "--like", "uexp_f*"], "matches 4 kernels"),
        (["one_u8", "two_u8", "--like", "uexp_f32"], "differ in more than the dtype at their end"),
        (["usquare_{f32,f16}", "--like", "usqr_f32", "--line", "f32:3"], "no line for usquare_f16"),
        (["usquare_f32", "--like", "usqr_f32", "--line", "f32:3,u8:4"], "no new kernel is of u8"),
        (["usquare_f32", "--like", "usqr_f32", "--line", "0"], "'0' is not DTYPE:N"),
        (["usquare_f32", "--like", "usqr_f32", "--same-tolerance", "--write"], "--write needs --line N"),
        (["usquare_f32"], "name the kernel that they are shaped like with --like KERNEL, or give --own"),
    ],
)
def test_bad_words(capsys: pytest.CaptureFixture[str], words: list[str], problem: str) -> None:
    assert main(["new", *words]) == 2
    assert problem in capsys.readouterr().err

"""The same error of the compiler is one cause, in however many files it is and whatever it costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from conformance.cli.main import main
from conformance.record import KernelResult, Record, every_kernel, read_record
from conformance.report.causes import Finding, cause_lines, find_causes
from conformance.report.ci import render_annotations
from conformance.report.tally import launcher_results, results
from conformance.spec.load import load_specs
from tests.runs import run_info

SPECS = load_specs()
TOGETHER = "(defined by the same macro use as {}, and none of them is compiled without the others)"
COPIES = [name for name in SPECS.kernels if name.startswith("ucopy_")]


def row(name: str, message: str) -> KernelResult:
    kernel = SPECS.kernels[name]
    about = {key: getattr(kernel, key) for key in ("name", "module", "family", "upstream")}
    return KernelResult(**about, status="compile_error", message=message)


def causes(messages: Sequence[str]) -> list[Finding]:
    return find_causes([row(*pair) for pair in zip(COPIES, messages, strict=False)], SPECS)


def lines(messages: Sequence[str]) -> list[str]:
    return [line.strip() for line in cause_lines(causes(messages))]


def test_lines_of_one_file_are_one_cause() -> None:
    places = [41 if name < "ucopy_i" else 43 for name in COPIES]
    said = lines([f"k/unary.hip:{line}:7: error: no member named 'x'" for line in places])
    assert said[1] == f"{len(COPIES)} kernels: Does not compile: k/unary.hip:41, 43: no member named 'x'"
    assert said[-1] == "to do: mend the 2 lines; no kernel that needs one of them compiles"
    said = lines(["k/unary.hip:41:7: error: no member named 'x'"] * 2)
    assert said[1] == "2 kernels: Does not compile: k/unary.hip:41: no member named 'x'"
    assert said[-1] == "to do: mend the line; no kernel that needs it compiles"
    (finding,) = causes([f"k/unary.hip:{number}:7: error: no member named 'x'" for number in range(100, 107)])
    assert finding.place == "k/unary.hip:100, 101, 102, 103, 104, 105 and 1 more"


def test_files_with_the_same_error_are_one_cause_that_names_how_many_and_the_first() -> None:
    said = lines(
        [f"k/{file}:3:7: error: unknown type name 'cudaStream_t'" for file in ("b.cu", "a.cu", "c.cu", "a.cu")]
    )
    assert said == [
        "1 cause of 4 kernels that fail; mending it gains up to 4 kernels:",
        "4 kernels: Does not compile in 3 files: unknown type name 'cudaStream_t'",
        f"{', '.join(COPIES[:4])}; first at k/b.cu:3",
        "to do: mend what these files share, such as a header or an option, or else each of the 3 lines",
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a.cu:1:2: error: no member 'x'", "b.cu:9:8: fatal error: no member 'x'"),
        ("a.cu:1:2: error: no member 'x'", "b.cu(9): error: no member 'x'"),
        ("a.cu:1:2: error: no member 'x' (needed at a.cu:7)", "b.cu:1:2: error: no member 'x'"),
        ("a.cu:1:2: error: no 'x' (in one, which it uses)", "b.cu:1:2: error: no 'x' (in two, which it uses)"),
        (f"a.cu:1:2: error: no 'x' {TOGETHER.format('b')}", f"a.cu:1:2: error: no 'x' {TOGETHER.format('a')}"),
        (
            "a.cu:1:2: error: no viable conversion from '(lambda at a.cu:1:9)'",
            "b.cu:4:2: error: no viable conversion from '(lambda at b.cu:4:9)'",
        ),
    ],
    ids=["how grave", "how NVRTC places it", "who needs it", "what uses it", "what goes with it", "places inside it"],
)
def test_an_error_is_the_same_with(first: str, second: str) -> None:
    (finding,) = causes([first, second])
    assert [share.kernel.name for share in finding.shares] == COPIES[:2]


def test_what_is_known_of_one_kernel_only_is_not_said_of_all() -> None:
    error = "error: no member 'x'"
    (finding,) = causes([f"a.cu:1:2: {error} (in f, which it uses)", f"b.cu:1:2: {error} (in g, which it uses)"])
    assert finding.detail == "no member 'x'"
    (finding,) = causes([f"a.cu:1:2: {error} (in f, which it uses)"] * 2)
    assert finding.detail == "no member 'x' (in f, which it uses)"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a.cu:1:2: error: unknown type name 'x'", "a.cu:1:2: error: unknown type name 'y'"),
        ("a.cu:1:2: error: 'mma.h' file not found", "a.cu:1:2: error: 'cuda_runtime.h' file not found"),
        ("a.cu:1:2: error: no 'x'", "a.cu:1:2: error: no 'x' (did you mean 'y'?)"),
        ("not compiled within 300 s", "the compiled source does not export it"),
    ],
)
def test_other_words_are_another_error(first: str, second: str) -> None:
    assert len(causes([first, second])) == 2


@pytest.mark.parametrize(
    "error",
    [
        "<inline asm>:1:2: error: invalid instruction mnemonic 'ldmatrix.sync.aligned.m8n8.x4.b16'",
        "port/moe.cu:19:10: fatal error: 'mma.h' file not found",
    ],
)
def test_what_the_host_cannot_compile_is_no_line_to_mend(error: str) -> None:
    (finding,) = causes([error])
    assert "--runtime cuda" in finding.advice


def test_a_missing_header_is_a_folder_to_name() -> None:
    (finding,) = causes(["port/a.cu:2:10: fatal error: 'shim.h' file not found"])
    assert "-I FOLDER" in finding.advice


def test_an_annotation_stands_at_each_place_of_an_error() -> None:
    rows = [row(*pair) for pair in zip(COPIES, [f"port/{file}.cu:3:7: error: no 'x'" for file in "aab"], strict=False)]
    record = Record.of(run_info(kernels="port"), every_kernel(SPECS, rows))
    shown = [line.partition(",title")[0] for line in render_annotations(record, SPECS).splitlines()]
    assert shown == ["::error file=port/a.cu,line=3", "::error file=port/b.cu,line=3"]


SHIM = "#pragma once\n#include <hip/hip_runtime.h>\n#include <stdint.h>\n"
LAUNCHER = """#include "shim.h"
extern "C" void launch_mmvq_gguf_quantize_q8_1_{}(const void *x, void *vy, int kx, int kx_padded, int num_rows,
                                                  {} stream) {{}}
"""
BY_ONE_MACRO = """#include "shim.h"
#define DEFINE(NAME)                                                                                              \\
  extern "C" void NAME(const float *, const int *, void *, int, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, \\
                       int64_t, int64_t, port_stream_t) {}
#define BOTH(A, B) DEFINE(A) DEFINE(B)
BOTH(launch_mmq_quantize_q8_1_D4, launch_mmq_quantize_q8_1_DS4)
"""


@pytest.mark.nightly("compiles a foreign port without its shim")
def test_a_shim_without_a_type_is_one_cause_of_a_foreign_port(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    port = tmp_path / "port"
    port.mkdir()
    (port / "shim.h").write_text(SHIM)
    (port / "one.hip").write_text(LAUNCHER.format("f32", "port_stream_t"))
    (port / "two.hip").write_text(LAUNCHER.format("f16", "port_stream_t"))
    (port / "both.hip").write_text(BY_ONE_MACRO)
    (port / "other.hip").write_text(LAUNCHER.format("bf16", "other_stream_t"))
    file = tmp_path / "record.json"
    words = [
        "run",
        "launch_*quantize_q8_1*",
        "--runtime",
        "cpu",
        "-j",
        "1",
        "--kernels",
        str(port),
        "--json",
        str(file),
    ]
    assert main(words) == 1
    record = read_record(file)
    assert find_causes(results(record, SPECS), SPECS) == []
    shim, other = find_causes(launcher_results(record, SPECS), SPECS)
    assert (shim.detail, shim.files, len(shim.shares)) == ("unknown type name 'port_stream_t'", 3, 4)
    # Where no compiler for AMD targets is installed, a single refusal says so too.
    detail = (other.detail or "").partition(" (nobody checked whether AMD's compiler takes it")[0]
    assert (detail, other.files, len(other.shares)) == ("unknown type name 'other_stream_t'", 1, 1)
    assert "4 launchers: Does not compile in 3 files: unknown type name 'port_stream_t'\n" in capsys.readouterr().out

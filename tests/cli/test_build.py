"""``build`` from the command line, and its record in reports. What is compiled here is not run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from conformance.cli.main import main
from conformance.port.code_objects import read_code_objects
from conformance.port.compiling.driver import lacked
from conformance.record import (
    Build,
    KernelResult,
    Record,
    Resources,
    RunInfo,
    every_kernel,
    merge,
    read_record,
    write_record,
)
from conformance.report.html import render_html
from conformance.report.markdown import render_markdown
from conformance.report.run_notes import remarks
from conformance.report.terminal import render_terminal
from conformance.spec.load import Specs, load_specs
from conformance.toolchains.amd import AmdToolchain, find_toolchain
from conformance.toolchains.headers import GET, headers_of
from conformance.toolchains.targets import AmdError, targets_of
from conformance.writing import FileError
from tests.commands import answer

AFFINE = """
#include <hip/hip_runtime.h>
extern "C" __global__ void affine_f32(const size_t numel, const size_t num_dims, const size_t *info,
                                      const float *inp, float *out, const float mul, const float add) {
  if (threadIdx.x < numel) out[threadIdx.x] = inp[threadIdx.x] * mul + add;
}
"""


WHEN = "2026-01-02T03:04:05Z"


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


@pytest.fixture
def port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tree of one right file; skips where no compiler for AMD targets is found."""
    monkeypatch.setenv("CANDLE_PARITY_CACHE", str(tmp_path / "cache"))
    try:
        find_toolchain(targets_of("gfx942"))
    except AmdError as missing:
        pytest.skip(f"NOTHING BUILT FOR AMD TARGETS: {missing}")
    folder = tmp_path / "port"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub/affine.hip").write_text(AFFINE)
    monkeypatch.chdir(tmp_path)
    return folder


def build(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    said = answer(capsys, "build", *words)
    return said.code, said.out, said.err


IN_MEMORY = AFFINE.replace("= inp[", "= pick[numel % 4] + inp[").replace(
    "  if (", "  volatile float pick[4] = {mul, add, mul + add, mul - add};\n  pick[num_dims % 4] = 0;\n  if ("
)


@pytest.mark.slow("whole runs by the command")
def test_memory_of_a_thread_is_told(port: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An array in memory costs as much as registers that are spilled there, and is none of these."""
    assert "scratch" not in build(capsys, "--kernels", port, "--arch", "gfx942")[1]
    (port / "sub/affine.hip").write_text(IN_MEMORY)
    assert " B scratch a thread" in build(capsys, "--kernels", port, "--arch", "gfx942")[1]


@pytest.mark.slow("whole runs by the command")
def test_objects_lie_by_target_and_the_record_says_what_compiles(
    port: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = build(capsys, "--kernels", port, "--arch", "gfx942,gfx1100", "--out", "o", "--json", "b.json")
    assert (code, err) == (0, "")
    for target in ("gfx942", "gfx1100"):
        (found,) = read_code_objects(tmp_path / f"o/{target}/sub/affine.hsaco")
        assert found.target == target
        assert found.kernels.keys() == {"affine_f32"}
        assert f"{target}: 1 of Candle's 748 kernels compile; nothing was executed" in out
    record = read_record(tmp_path / "b.json")
    assert (record.run.runtime, record.run.kernels, list(record.run.builds)) == ("build", "port", ["gfx942", "gfx1100"])
    assert {kernel.status for kernel in record.kernels} == {"not_run"}
    assert record.summary.coverage == 0
    rows = {kernel.name: kernel for kernel in record.kernels if kernel.compiles_for}
    assert rows.keys() == {"affine_f32"}
    assert rows["affine_f32"].source == "port/sub/affine.hip"
    assert rows["affine_f32"].compiles_for["gfx942"].wave == 64
    assert rows["affine_f32"].compiles_for["gfx1100"].wave == 32


@pytest.mark.slow("whole runs by the command")
def test_a_file_that_does_not_compile_is_told_and_the_others_are_built(
    port: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (port / "broken.hip").write_text(AFFINE.replace("* mul", "* no_such"))
    stale = tmp_path / "o/gfx942/broken.hsaco"
    stale.parent.mkdir(parents=True)
    stale.touch()
    code, out, err = build(capsys, "--kernels", port, "--arch", "gfx942", "--out", "o", "--json", "b.json")
    assert code == 1
    assert re.search(r"port/broken\.hip does not compile for gfx942:\n  port/broken\.hip:5:\d+: error: .*no_such", err)
    assert "does not compile" in out
    assert not stale.exists()
    assert (tmp_path / "o/gfx942/sub/affine.hsaco").is_file()
    failed = read_record(tmp_path / "b.json").run.builds["gfx942"].failed
    assert failed.keys() == {"port/broken.hip"}
    assert "no_such" in failed["port/broken.hip"]


@pytest.mark.slow("whole runs by the command")
def test_a_kernel_that_does_not_compile_is_told_and_the_others_of_its_file_are_built(
    port: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = AFFINE.replace("affine_f32", "affine_f64").replace("* mul", "* no_such").replace("#include", "//")
    (port / "sub/affine.hip").write_text(AFFINE + broken)
    words = ("--kernels", port, "--arch", "gfx942", "--out", "o", "--json", "b.json")
    for _ in range(2):  # compiled, and from the cache
        code, out, err = build(capsys, *words)
        assert code == 1
        assert re.search(r"sub/affine\.hip:9: affine_f64 does not compile for gfx942:\n  port/sub/affine.*no_such", err)
        assert "1 kernels" in out
        (found,) = read_code_objects(tmp_path / "o/gfx942/sub/affine.hsaco")
        assert found.kernels.keys() == {"affine_f32"}
    built = read_record(tmp_path / "b.json")
    assert built.run.builds["gfx942"].failed == {}
    assert built.run.builds["gfx942"].broken.keys() == {"affine_f64"}
    code = main(["check", "--kernels", str(port), "affine_f32", "--arch", "gfx942"])
    assert (code, "affine_f64 port/sub/affine.hip:11:" in capsys.readouterr().out) == (1, True)


@pytest.mark.slow("whole runs by the command")
def test_a_kernel_that_does_not_compile_is_told_under_candles_name(
    port: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = AFFINE.replace("affine_f32", "own_f64").replace("* mul", "* no_such").replace("#include", "//")
    (port / "sub/affine.hip").write_text(AFFINE + broken)
    (port / "candle-parity.toml").write_text('[names]\n"affine_f64" = "own_f64"\n')
    _, _, err = build(capsys, "--kernels", port, "--arch", "gfx942", "--out", "o", "--json", "b.json")
    assert "affine.hip:9: affine_f64 does not compile for gfx942" in err
    assert read_record(Path("b.json")).run.builds["gfx942"].broken.keys() == {"affine_f64"}
    main(["check", "--kernels", str(port), "affine_f32", "--arch", "gfx942"])
    assert "affine_f64 port/sub/affine.hip:11:" in capsys.readouterr().out


@pytest.mark.slow("whole runs by the command")
def test_a_source_for_hiprtc_needs_no_include(port: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = AFFINE.replace("#include <hip/hip_runtime.h>", "__device__ half twice(half x) { return x + x; }")
    (port / "sub/affine.hip").write_text(text)
    if find_toolchain(targets_of("gfx942")).minimal_headers:
        pytest.skip("NOTHING SUPPLIED: HIP's own headers were not found")
    assert build(capsys, "--kernels", port, "--arch", "gfx942", "--out", "o")[0] == 0


@pytest.mark.slow("whole runs by the command")
def test_a_header_that_the_installation_lacks_is_not_the_ports_fault(
    port: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    include = headers_of(find_toolchain(targets_of("gfx942")).options) or Path("/usr/include")
    if (include / "hip/hip_fp4.h").exists():
        pytest.skip("NOTHING IS MISSING: this HIP has every header")
    (port / "sub/affine.hip").write_text(f"#include <hip/hip_fp4.h>\n{AFFINE}")
    code, out, err = build(capsys, "--kernels", port, "--arch", "gfx942", "--out", "o", "--json", "b.json")
    assert code == 2
    assert "does not compile" not in out
    built = read_record(Path("b.json")).run.builds["gfx942"]
    assert (built.failed, built.lacking.keys()) == ({}, {"port/sub/affine.hip"})
    assert "port/sub/affine.hip cannot be compiled here for gfx942:\n  it includes <hip/hip_fp4.h>, which " in err
    assert f"this says nothing of the port: {GET} brings newer headers" in err


def test_an_installation_is_named_by_its_version_and_folder(tmp_path: Path) -> None:
    (tmp_path / "include/hip").mkdir(parents=True)
    (tmp_path / "include/hip/hip_version.h").write_text("#define HIP_VERSION_MAJOR 5\n#define HIP_VERSION_MINOR 2\n")
    toolchain = AmdToolchain("clang", ("clang++",), (f"--rocm-path={tmp_path}",), "clang 19", "1")
    log = "a.hip:1:10: fatal error: 'hip/hip_bf16.h' file not found\n"
    assert f"<hip/hip_bf16.h>, which HIP 5.2 in {tmp_path / 'include'} does not have" in (lacked(toolchain, log) or "")
    assert lacked(toolchain, log.replace("hip/hip_bf16.h", "hip/own.h")) is None


def test_a_report_says_what_amds_compiler_refuses_of_what_was_put_on_trial(specs: Specs) -> None:
    build = Build(compiler="clang", started=WHEN, failed={"port/b.hip": "no b"}, broken={"uneg_f32": "no uneg"})
    rows = [
        KernelResult.model_validate(
            {"name": name, "module": "unary", "family": "unary", "status": "pass", "cases": 1, "upstream": "u:1"}
            | {"source": f"port/{file}.hip:3"}
        )
        for name, file in (("uneg_f32", "a"), ("uexp_f32", "b"), ("usqr_f32", "a"))
    ]
    run = RunInfo(runtime="cpu", device="d", started=WHEN, seconds=1, upstream_commit="0", builds={"gfx942": build})
    record = Record.of(run, every_kernel(specs, rows))
    said = [remark.text for remark in remarks(record, record.kernels, specs) if "refuses" in remark.text]
    assert said == [
        "AMD's compiler refuses 1 kernel that was judged (uneg_f32), for gfx942: no uneg",
        "AMD's compiler refuses 1 kernel that was judged (uexp_f32), for gfx942: no b",
    ]


@pytest.mark.slow("whole runs by the command")
def test_an_argument_unlike_the_specs_is_told(port: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (port / "sub/affine.hip").write_text(AFFINE.replace("const size_t num_dims", "const int num_dims"))
    code, _, err = build(capsys, "--kernels", port, "--arch", "gfx942", "--out", "o")
    assert code == 1
    assert "affine_f32 parameter 2 is a value of 4 bytes at offset 8" in err


@pytest.mark.slow("whole runs by the command")
def test_options_reach_the_compiler(port: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more/factor.h").write_text("#define FACTOR mul\n")
    (tmp_path / "forced.h").write_text("#define SUM + add\n")
    text = AFFINE.replace("#include <hip", "#include <factor.h>\n#include <hip").replace(
        "* mul + add", "TIMES FACTOR SUM"
    )
    (port / "sub/affine.hip").write_text(text)
    words = ["--kernels", port, "--arch", "gfx942", "--out", "o"]
    assert build(capsys, *words)[0] == 1
    options = ["-I", tmp_path / "more", "-DTIMES=*", "--include", tmp_path / "forced.h"]
    assert build(capsys, *words, *options)[0] == 0
    code = main(["check", "--kernels", str(port), "affine_f32", "--arch", "gfx942", *map(str, options)])
    assert (code, "1 code object (gfx942)" in capsys.readouterr().out) == (0, True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--arch", "sm_90"], "'sm_90' is not an AMD target"),
        (["--arch", "gfx942,gfx9999"], "no AMD GPU is a gfx9999"),
        (["--kernels", "absent"], "absent does not exist"),
        (["--kernels", "objects"], "holds code objects only"),
    ],
)
def test_bad_usage_is_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "objects").mkdir()
    (tmp_path / "objects/a.hsaco").touch()
    code, _, err = build(capsys, *words)
    assert code == 2
    assert said in err
    assert err.count("\n") == 1


def record(specs: Specs, runtime: str, **changes: Any) -> Record:
    values: dict[str, Any] = {
        "runtime": runtime,
        "device": "host",
        "kernels": "port",
        "started": "2026-01-02T03:04:05Z",
        "seconds": 1.0,
        "upstream_commit": "2a13b0f",
        "sources": "0123456789abcdef",
    }
    passing = KernelResult(
        name="affine_f32", module="affine", family="affine", status="pass", cases=3, upstream="affine.cu:1"
    )
    return Record.of(RunInfo(**{**values, **changes}), every_kernel(specs, [passing] if runtime != "build" else []))


def built(
    specs: Specs, *targets: str, names: tuple[str, ...] = ("affine_f32",), spills: int = 0, **changes: Any
) -> Record:
    said = Resources(vgpr=8, sgpr=16, spills=spills, lds=0, scratch=0, wave=64, kernarg=296)
    rows = [KernelResult.not_run(specs.kernels[name], compiles_for=dict.fromkeys(targets, said)) for name in names]
    builds = {target: Build(compiler="clang 19", started="2026-01-02T03:00:00Z") for target in targets}
    return Record.of(record(specs, "build", builds=builds, **changes).run, every_kernel(specs, rows))


def test_a_build_joins_the_run_of_the_same_sources(specs: Specs, tmp_path: Path) -> None:
    (joined,) = merge([built(specs, "gfx942"), record(specs, "cpu"), built(specs, "gfx1100")])
    row = next(kernel for kernel in joined.kernels if kernel.name == "affine_f32")
    assert (row.status, row.cases, list(row.compiles_for)) == ("pass", 3, ["gfx942", "gfx1100"])
    assert joined.summary == record(specs, "cpu").summary
    write_record(joined, tmp_path / "joined.json")
    assert read_record(tmp_path / "joined.json") == joined
    assert json.loads((tmp_path / "joined.json").read_text())["schema"] == 1


def test_a_build_of_other_sources_is_refused(specs: Specs) -> None:
    with pytest.raises(FileError, match="build and run again"):
        merge([record(specs, "cpu"), built(specs, "gfx942", sources="fedcba9876543210")])


def test_a_build_with_other_declarations_is_refused(specs: Specs) -> None:
    assert len(merge([record(specs, "cpu", declared="a"), built(specs, "gfx942", declared="a")])) == 1
    assert len(merge([record(specs, "cpu"), built(specs, "gfx942", declared="a")])) == 1
    with pytest.raises(FileError, match=r"different declarations \(candle-parity.toml\); build and run again"):
        merge([record(specs, "cpu", declared="a"), built(specs, "gfx942", declared="b")])


def test_a_build_of_another_port_stands_alone(specs: Specs) -> None:
    found = merge([built(specs, "gfx942", sources="fedcba9876543210", kernels="other"), record(specs, "cpu")])
    assert [item.run.runtime for item in found] == ["cpu", "build"]


def test_the_newer_build_of_a_target_counts(specs: Specs) -> None:
    old = built(specs, "gfx942", names=("affine_f32", "affine_f64"))
    new = built(specs, "gfx942", started="2026-02-02T03:04:05Z")
    (joined,) = merge([new, old])
    assert [kernel.name for kernel in joined.kernels if kernel.compiles_for] == ["affine_f32"]


@pytest.mark.slow("compiles for several targets")
def test_reports_have_a_column_per_target_that_says_compiles(specs: Specs) -> None:
    names = tuple(name for name, kernel in specs.kernels.items() if kernel.module == "affine")
    build_all, some = built(specs, "gfx942", names=names), built(specs, "gfx1100", names=names[:4], spills=7)
    joined = merge([record(specs, "cpu"), build_all, some])
    text = render_markdown(joined, specs)
    section = text.split("## Compiles for AMD targets")[1].split("\n## ")[0]
    rows = {line.split(" | ")[0].strip("| "): line for line in section.splitlines() if line.startswith("|")}
    assert rows["Module"] == "| Module | Kernels | gfx942 | gfx1100 |"
    assert rows["affine"] == "| affine | 10 | compiles | 4 of 10 compile |"
    assert rows["unary"] == "| unary | 123 | – | – |"
    assert "Nothing was executed" in section
    assert "registers spilled to memory" in section
    assert "(7 registers on gfx1100)" in section
    for word in ("pass", "parity", "works", "✅"):
        assert word not in section.lower()
    assert "4 of 10 compile" in render_html(joined, specs)
    assert "gfx942: 10 of 748 compile" in render_terminal(joined, specs)


def test_a_report_without_builds_says_nothing_of_targets(specs: Specs) -> None:
    assert "Compiles for AMD" not in render_markdown(record(specs, "cpu"), specs)


@pytest.mark.slow("whole runs by the command")
def test_check_names_the_line_that_loses_the_sign_of_zero(port: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rounded = "_Float16((float)inp[threadIdx.x] * (float)numel)"
    text = AFFINE.replace("float", "_Float16").replace("affine_f32", "affine_f16")
    text = text.replace("inp[threadIdx.x] * mul + add", rounded)
    (port / "sub/affine.hip").write_text(text)
    code = main(["check", "--kernels", str(port), "affine_f16", "--arch", "gfx942"])
    out = capsys.readouterr().out
    assert code == 0
    assert "port/sub/affine.hip:5 [gfx942]: affine_f16 rounds a product to f16 by v_fma_mixlo_f16" in out
    assert "-0 + +0 is +0" in out

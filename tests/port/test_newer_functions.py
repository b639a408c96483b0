"""What HIP's installed headers are too old for is no fault of the port's, kernel by kernel."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.toolchains.amd import find_toolchain
from conformance.toolchains.headers import headers_of, hip_version
from conformance.toolchains.targets import AmdError, target
from tests.commands import answer

KERNEL = """extern "C" __global__ void fill_{type}({name} *buf, {name} value, const size_t numel) {{
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += gridDim.x * blockDim.x) buf[i] = value;
  {more}
}}
"""
ROWS = (
    ("u8", "unsigned char", ""),
    ("i64", "long long", "if (numel == 0) atomicMax(buf, value);"),
    ("f32", "float", "if (numel == 0) buf[0] = __shfl_xor_sync(~0ull, value, 1);"),
    ("u32", "unsigned", "if (numel == 0) atomicMax(buf, of_nobody(value));"),
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    try:
        version = hip_version(headers_of(find_toolchain([target("gfx942")]).options) or Path())
    except AmdError as missing:
        pytest.skip(f"NOT COMPILED FOR AMD TARGETS: {missing}")
    if not version.startswith("5.2"):
        pytest.skip(f"HIP {version or 'without headers'} is installed here, where HIP 5.2's headers are needed")
    text = "".join(KERNEL.format(type=type_, name=name, more=more) for type_, name, more in ROWS)
    (tmp_path / "port").mkdir()
    (tmp_path / "port/fill.hip").write_text(f"#include <hip/hip_runtime.h>\n{text}")
    return tmp_path / "port"


@pytest.mark.slow("compiles a small port")
def test_a_function_of_a_newer_hip_makes_the_kernel_not_run(tree: Path, capfd: pytest.CaptureFixture[str]) -> None:
    names = [f"fill_{type_}" for type_, _, _ in ROWS]
    record = tree.parent / "record.json"
    said = answer(capfd, "run", "--runtime", "isa", "--arch", "gfx942", "--kernels", tree, *names, "--json", record)
    assert said.code == 2
    rows = {row["name"]: row for row in json.loads(record.read_text())["kernels"]}
    assert [rows[name]["status"] for name in names] == ["pass", "not_run", "not_run", "compile_error"]
    assert "(HIP 5.7 has it for long long, HIP 5.2 in" in rows["fill_i64"]["message"]
    assert "(HIP 7.0 has it, HIP 5.2 in" in rows["fill_f32"]["message"]
    assert rows["fill_f32"]["message"].startswith("infrastructure: ")
    assert "headers of HIP 5.2" in rows["fill_u8"]["compiler_name"]
    assert "headers of HIP 5.2" in " ".join(said.out.split())


@pytest.mark.slow("compiles a small port")
def test_build_says_that_it_lacks_them(tree: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    build = ("build", "--arch", "gfx942", "--kernels", tree, "--out", tmp_path / "out")
    assert answer(capfd, *build).code == 1
    source = tree / "fill.hip"
    source.write_text(source.read_text().replace("of_nobody(value)", "value"))
    assert answer(capfd, *build).code == 2

"""Only OCP's e4m3 is ``f8e4m3``: e5m2 and AMD's FNUZ forms have its size and other values."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.cli.main import main
from conformance.port.check.source import check_sources, read_tree
from conformance.port.signature import Given, compiled, difference
from conformance.port.sources import find_sources
from conformance.spec.load import Specs, load_specs

KERNEL = "affine_f8_e4m3"
SOURCE = """\
#include <hip/hip_runtime.h>
#include <hip/hip_fp8.h>
typedef {type} eight;
using T = eight;
extern "C" __global__ void affine_f8_e4m3(const size_t numel, const size_t num_dims, const size_t *info,
                                          const T *inp, T *out, const T mul, const T add) {{}}
"""
OTHERS = ["__hip_fp8_e5m2", "__hip_fp8_e4m3_fnuz", "__hip_fp8_e5m2_fnuz", "__nv_fp8_e5m2", "__hip_fp8x2_e4m3"]
RIGHT = ["__hip_fp8_e4m3", "__nv_fp8_e4m3", "my_float8", "f8_e4m3fn"]


@pytest.fixture(scope="module")
def specs() -> Specs:
    return load_specs()


def kinds(specs: Specs, folder: Path, type_name: str) -> list[str]:
    (folder / "affine.hip").write_text(SOURCE.format(type=type_name))
    return [
        item.kind for item in check_sources(read_tree(find_sources(folder)), specs.kernels, [specs.kernels[KERNEL]])
    ]


@pytest.mark.parametrize("type_name", OTHERS)
def test_check_tells_another_8_bit_float_through_aliases(specs: Specs, tmp_path: Path, type_name: str) -> None:
    assert kinds(specs, tmp_path, type_name) == ["pointee_type", "pointee_type", "parameter_type", "parameter_type"]


@pytest.mark.parametrize("type_name", RIGHT)
def test_check_takes_ocp_e4m3_and_own_names(specs: Specs, tmp_path: Path, type_name: str) -> None:
    assert kinds(specs, tmp_path, type_name) == []


def parameters(type_name: str) -> list[Given]:
    words = ["unsigned long", "unsigned long", "const unsigned long *", f"const {type_name} *", f"{type_name} *"]
    return [
        *(compiled(word, 8) for word in words),
        compiled(type_name, 1),
        compiled(type_name, 1),
    ]


@pytest.mark.parametrize("type_name", OTHERS)
def test_compiled_parameters_of_another_8_bit_float_differ(specs: Specs, type_name: str) -> None:
    said = difference(specs.kernels[KERNEL], parameters(type_name))
    assert said == f"parameter 4 is const {type_name} *, Candle's is f8e4m3* inp"


@pytest.mark.parametrize("type_name", [*RIGHT, "unsigned char"])
def test_compiled_parameters_of_ocp_e4m3_fit(specs: Specs, type_name: str) -> None:
    assert difference(specs.kernels[KERNEL], parameters(type_name)) is None


@pytest.mark.slow("compiles a small port")
def test_the_cpu_runtime_calls_it_signature(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "affine.hip").write_text(SOURCE.format(type="__hip_fp8_e4m3_fnuz"))
    record = tmp_path / "record.json"
    main(["run", "--runtime", "cpu", "--kernels", str(tmp_path), "--json", str(record), KERNEL])
    capsys.readouterr()
    (row,) = [row for row in json.loads(record.read_text())["kernels"] if row["name"] == KERNEL]
    assert row["status"] == "signature"
    assert "__hip_fp8_e4m3_fnuz" in row["message"]

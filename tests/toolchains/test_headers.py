"""Errors for functions that only a newer HIP has, and known faults of device libraries."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from conformance.toolchains import headers
from conformance.toolchains.compile_error import first_error
from conformance.toolchains.headers import headers_of, hip_version, lacks_function, with_releases
from conformance.toolchains.library_faults import header_fault, library_fault

OVERLOAD = """k.hip:8:3: error: no matching function for call to 'atomicMax'
    8 |   atomicMax(p, v);
atomic.h:9:5: note: candidate function not viable: no known conversion from '{given}' to 'int *' for 1st argument
2 errors generated when compiling for gfx942.
"""
UNKNOWN = "k.hip:3:5: error: use of undeclared identifier '{name}'; did you mean '__shfl_xor'?\n"


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    (tmp_path / "hip").mkdir()
    (tmp_path / "hip/hip_version.h").write_text("#define HIP_VERSION_MAJOR 5\n#define HIP_VERSION_MINOR 2\n")
    return tmp_path


@pytest.mark.parametrize(
    ("log", "has"),
    [
        (OVERLOAD.format(given="long long *"), "HIP 5.7 has it for long long, HIP 5.2 in"),
        (OVERLOAD.format(given="T *' (aka 'long long *"), "HIP 5.7 has it for long long, HIP 5.2 in"),
        (UNKNOWN.format(name="__shfl_xor_sync"), "HIP 7.0 has it, HIP 5.2 in"),
    ],
)
def test_an_error_for_a_function_of_a_newer_hip_names_the_release(installed: Path, log: str, has: str) -> None:
    said = first_error(with_releases(log, installed))
    assert has in said
    assert lacks_function(said)
    assert lacks_function(f"{said} (in f, which it uses)")
    (installed / "hip/hip_version.h").write_text("#define HIP_VERSION_MAJOR 7\n#define HIP_VERSION_MINOR 2\n")
    assert with_releases(log, installed) == log


@pytest.mark.parametrize(
    "log", [OVERLOAD.format(given="float *"), UNKNOWN.format(name="of_the_port"), "k.hip:1:1: error: #error (HIP 7)"]
)
def test_any_other_error_is_the_ports(installed: Path, log: str) -> None:
    assert with_releases(log, installed) == log
    assert with_releases(log, None) == log
    assert not lacks_function(log)


def test_the_headers_of_a_compiler_are_those_that_its_options_name(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root/include").symlink_to(installed)
    found = headers_of([f"--rocm-path={tmp_path}/root", "-O3"])
    assert found == installed.resolve()
    assert headers_of(["-isystem", str(installed)]) == found
    assert headers_of(["-nogpuinc"]) is None
    assert hip_version(installed) == "5.2"


def test_each_row_says_where_it_is_known_from() -> None:
    for name in ("hip_functions.yaml", "library_faults.yaml"):
        rows = yaml.safe_load(Path(headers.__file__).with_name(name).read_text())
        assert all(row["source"] for row in rows)


DEBIAN = "Debian clang version 19.1.7 with device libraries of LLVM 15.0.5, not the compiler's release"


def test_a_known_fault_of_the_device_libraries_is_no_kernels_doing() -> None:
    said = library_fault("usin_f16", DEBIAN, ["nan (0x7e00)", "nan (0x7e00)"])
    assert said is not None
    assert "__ocml_sin_f16 of the device libraries of LLVM 15 gives nan" in said


@pytest.mark.parametrize(
    ("kernel", "compiler", "wrong"),
    [
        ("ucos_f16", DEBIAN, ["nan"]),
        ("usin_f16", DEBIAN, ["nan", "0.5 (0x3800)"]),
        ("usin_f16", DEBIAN, []),
        ("usin_f16", DEBIAN.replace("15.0.5", "19.0.0"), ["nan"]),
        ("usin_f16", None, ["nan"]),
    ],
)
def test_what_else_is_wrong_is(kernel: str, compiler: str | None, wrong: list[str]) -> None:
    assert library_fault(kernel, compiler, wrong) is None


OLD = "Debian clang version 19.1.7; headers of HIP 5.2"
ROUNDED = {"1 ulp away from zero", "subnormal for zero"}


def test_a_known_fault_of_hips_headers_is_no_kernels_doing() -> None:
    said = header_fault(OLD, {"narrow", "__double2float_rz"}, ROUNDED)
    assert said is not None
    assert "__double2float_rz of the headers of HIP 5.2 gives the nearest float" in said


@pytest.mark.parametrize(
    ("compiler", "calls", "elements"),
    [
        (OLD, {"narrow", "__double2float_rn"}, ROUNDED),
        (OLD, {"__double2float_rz"}, {*ROUNDED, "NaN for number"}),
        (OLD, {"__double2float_rz"}, set()),
        (OLD.replace("5.2", "6.4"), {"__double2float_rz"}, ROUNDED),
        (None, {"__double2float_rz"}, ROUNDED),
    ],
)
def test_what_else_is_wrong_with_a_call_is_the_ports(compiler: str | None, calls: set[str], elements: set[str]) -> None:
    assert header_fault(compiler, calls, elements) is None

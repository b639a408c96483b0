"""Every operator of AMD's 16- and 8-bit types, and every function with an exact result, bit for bit against ours.

AMD's headers are compiled for the host. Ours follow the newest release that is tried, its mistakes too: a kernel that
leans on them is wrong on a GPU, and must not pass on the host.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conformance.runtimes.cpu.build import INCLUDE, forwarding_headers, write_headers
from tests.cpu_headers.formats import BF16, E4M3, E4M3_FNUZ, E5M2, E5M2_FNUZ, F16, Array, Format
from tests.cpu_headers.test_arithmetic import grid
from tests.cpu_hiprtc.conftest import compiler
from tests.rocm_libraries.conftest import unpacked
from tests.rocm_libraries.operators import EIGHT, INTEGERS, SIXTEEN, Row, rows, source
from tests.rocm_libraries.releases import RELEASES

HERE = Path(__file__).parent
INSTALLED = Path("/usr/include/hip")
NEWEST = RELEASES[-1].name
FLAGS = ["-std=c++20", "-O1", "-march=x86-64-v3", "-fexcess-precision=16", "-ffp-contract=off", "-fno-math-errno"]
FLAGS += ["-fno-strict-float-cast-overflow", "-fPIC", "-shared"]

BEFORE_BF16 = re.compile(r"\b(?:__hip_bfloat16\w*|__HIP_\w+|__hip_cvt\w+|__hip_fp8\w+)|__hisnan2")
"""What HIP 5.2 does not have; and what its header leaves to the device libraries."""

OTHERWISE = {
    "6.4": {
        # double to bf16 in two roundings; NaN of __hmax and __hmin wins; infinity saturates, and FNUZ has another NaN
        *("bf16_from_double", "bf16_assigned_double", "bf16_double2bfloat16"),
        *("bf16_hmax", "bf16_hmin", "bf162_hmax", "bf162_hmin"),
        *(f"{name}_{way}" for name in EIGHT for way in ("from_float", "from_double", "from_f16", "from_bf16")),
        *(f"{name}_assigned_{way}" for name in EIGHT for way in ("float", "double")),
        *(f"{name}_cvt_{way}_satfinite" for name in EIGHT for way in ("float", "double", "halfraw", "bfloat16raw")),
        *(f"e5m2_to_{way}" for way in ("float", "bf16", *INTEGERS)),
    },
    "5.2": {
        # the comparisons of __half whose names end in u are ordered; directed roundings from float round to nearest
        *(f"{name}_h{way}u" for name in ("f16", "f162") for way in ("eq", "lt", "le", "gt", "ge")),
        *(f"f16_float2half_{mode}" for mode in ("rz", "rd", "ru")),
    },
}
"""Where an older release differs from the newest, which ours follow."""

FORMATS: dict[str, Format] = {SIXTEEN["f16"]: F16, SIXTEEN["bf16"]: BF16, SIXTEEN["old_bf16"]: BF16, "__half_raw": F16}
FORMATS |= {EIGHT[form.name][0]: form for form in (E4M3, E5M2, E4M3_FNUZ, E5M2_FNUZ)}
PAIRS = {"__half2": F16, "__hip_bfloat162": BF16}
NUMPY: dict[str, str] = {"bool": "u1", "float": "f4", "double": "f8", **dict.fromkeys(PAIRS, "u4")}
NUMPY |= dict(zip(INTEGERS.values(), ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "i8", "u8"), strict=True))
NARROW = ("signed char", "unsigned char", "short", "unsigned short")
RNG = np.random.default_rng(5)


def dtype(kind: str) -> np.dtype[Any]:
    return np.dtype(NUMPY[kind] if kind in NUMPY else f"u{FORMATS[kind].bits // 8}")


def values(form: Format, bits: Array) -> Array:
    with np.errstate(invalid="ignore"):
        result: Array = bits.view(form.dtype).astype(np.float64)
    return result


def operands(row: Row) -> list[Array]:
    """Every pattern of a type, every pair of a small one, and of larger ones a sample with all special values."""
    kind = row.operands[0]
    form = FORMATS.get(kind)
    if len(row.operands) == 2:
        assert form is not None
        if form.bits == 16:
            infinity = np.array([np.inf], dtype=form.dtype).view(np.uint16)[0]
            every, special = (
                each.ravel().astype(np.uint16)
                for each in np.meshgrid(np.arange(1 << 16), [0, 0x8000, infinity, infinity | 0x8000, infinity + 1])
            )
            a, b = grid(form)
            return [np.concatenate([a, every, special]), np.concatenate([b, special, every])]
        return [each.ravel().astype(np.uint8) for each in np.meshgrid(np.arange(256), np.arange(256))]
    if form is not None:
        return [np.arange(1 << form.bits, dtype=dtype(kind))]
    if kind in ("float", "double"):
        prefix = max((name for name in (*SIXTEEN, *EIGHT) if row.name.startswith(f"{name}_")), key=len)
        form = FORMATS[SIXTEEN[prefix] if prefix in SIXTEEN else EIGHT[prefix][0]]
        with np.errstate(over="ignore"):
            return [form.boundaries().astype(dtype(kind))]
    limits = np.iinfo(dtype(kind))
    if limits.bits <= 16:
        return [np.arange(limits.min, limits.max + 1).astype(dtype(kind))]
    wide = RNG.integers(-(2**62), 2**62, 20000) >> RNG.integers(0, 62, 20000)
    found = np.concatenate([np.arange(-70000, 70000), np.int64(1) << np.arange(63), wide])
    extremes = np.array([limits.min, limits.max], dtype=dtype(kind))
    return [np.concatenate([*((found + step).astype(dtype(kind)) for step in (-1, 0, 1)), extremes])]


def call(library: ctypes.CDLL, row: Row, given: list[Array]) -> Array | None:
    """What the row gives of arrays; ``None`` where the header does not have it."""
    result = np.zeros(given[0].size, dtype=dtype(row.result))
    arrays = [*map(np.ascontiguousarray, given), result]
    function = getattr(library, row.name)
    function.restype = ctypes.c_bool
    pointers = (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
    return result if function(ctypes.c_long(result.size), pointers) else None


def defined(row: Row, given: list[Array]) -> Array:
    """Where C++ says what the row gives: AMD's header leaves to the compiler what does not fit a narrow integer, and
    shifts by more than 63 bits for an 8-bit float of a tiny number."""
    x = given[0]
    form = FORMATS.get(row.operands[0])
    known = values(form, x) if form is not None else x.astype(np.float64)
    if row.result in NARROW and "_to_" in row.name:
        limits = np.iinfo(dtype(row.result))
        return (known > limits.min - 1) & (known < limits.max + 1)
    if row.name.startswith("e") and "bfloat16" in row.operands[0]:
        return ~((np.abs(known) < 2.0**-45) & (known != 0))
    return np.ones(x.shape, dtype=bool)


def differs(row: Row, ours: Array, theirs: Array) -> Array:
    """Per element, whether the bits differ; one NaN is as good as another."""
    form = PAIRS.get(row.result) or FORMATS.get(row.result)
    if form is not None:
        a, b = (array.view(f"u{form.bits // 8}") for array in (ours, theirs))
        wrong = (a != b) & ~(np.isnan(values(form, a)) & np.isnan(values(form, b)))
        return wrong.reshape(ours.size, -1).any(axis=1)
    if ours.dtype.kind == "f":
        bits = f"u{ours.itemsize}"
        return (ours.view(bits) != theirs.view(bits)) & ~(np.isnan(ours) & np.isnan(theirs))
    return ours != theirs


NEEDS_CLANG = {"7.2": 19}
"""By release of HIP: its headers give __builtin_amdgcn_fence an argument that older clangs do not know."""


def clang_release() -> int:
    """The release of the clang of these tests; 0 where it is none."""
    said = subprocess.run([compiler(), "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"clang version (\d+)", said)
    return int(found[1]) if found else 0


def built(folder: Path, name: str, absent: re.Pattern[str], words: list[str]) -> ctypes.CDLL:
    if "clang" not in Path(compiler()).name:
        pytest.skip("no clang on this machine: g++ rounds _Float16 and converts to integers in other ways")
    file, library = folder / f"{name}.cpp", folder / f"{name}.so"
    file.write_text((HERE / f"{name}.cpp").read_text() + source(rows(), absent))
    done = subprocess.run(
        [compiler(), *words, *FLAGS, str(file), "-o", str(library)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return ctypes.CDLL(str(library))


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("ours")
    write_headers(forwarding_headers("cpu", INCLUDE), folder)
    words = ["-fdeclspec", "-I", str(INCLUDE), "-I", str(folder), "-include", "simt/prelude.h", "-Wl,-Bsymbolic"]
    return built(folder, "our_types", re.compile("(?!)"), words)


@pytest.fixture(scope="module", params=[*(release.name for release in RELEASES), "5.2"])
def amd(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ctypes.CDLL]:
    """The release, and AMD's headers of it."""
    release = next((one for one in RELEASES if one.name == request.param), None)
    if release is None:
        version = INSTALLED / "hip_version.h"
        text = version.read_text() if version.is_file() else ""
        if not re.search(r"MAJOR 5$.*MINOR 2$", text, re.MULTILINE | re.DOTALL):
            pytest.skip("HIP'S HEADERS ARE NOT TO BE HAD: this machine has none of HIP 5.2 in /usr/include")
        headers = INSTALLED
    else:
        if clang_release() < NEEDS_CLANG.get(release.name, 0):
            pytest.skip(
                f"the headers of HIP {release.name} need clang {NEEDS_CLANG[release.name]}: {compiler()} is older"
            )
        found = unpacked(release)
        headers = found.include / "hip"
    folder = tmp_path_factory.mktemp("amd")
    (folder / "rocm/include").mkdir(parents=True)
    (folder / "rocm/bin").mkdir()
    (folder / "rocm/include/hip").symlink_to(headers)
    (folder / "rocm/bin/.hipVersion").write_text("HIP_VERSION_MAJOR=5\nHIP_VERSION_MINOR=2\nHIP_VERSION_PATCH=0\n")
    words = ["-x", "hip", "--cuda-host-only", "-nogpulib", f"--rocm-path={folder}/rocm", "-no-hip-rt"]
    words += ["--no-offload-new-driver", "-isystem", f"{folder}/rocm/include"]
    absent = BEFORE_BF16 if release is None else re.compile("(?!)")
    return str(request.param), built(folder, "amd_types", absent, words)


def compared(ours: ctypes.CDLL, theirs: ctypes.CDLL) -> Iterator[tuple[str, str]]:
    """The rows that differ, each with how."""
    for row in rows():
        given = operands(row)
        mine, other = call(ours, row, given), call(theirs, row, given)
        if mine is None or other is None:
            if (mine is None) != (other is None):
                yield row.name, f"AMD's header {'has it' if mine is None else 'does not have it'}, ours otherwise"
            continue
        wrong = np.flatnonzero(differs(row, mine, other) & defined(row, given))
        if wrong.size:
            at = [str(each[wrong[0]]) for each in (*given, mine, other)]
            yield row.name, f"{wrong.size} values, first of {', '.join(at[:-2])}: ours {at[-2]}, AMD's {at[-1]}"


@pytest.mark.nightly("compiles every operator with AMD's headers and with ours")
def test_every_operator_gives_what_amds_gives(ours: ctypes.CDLL, amd: tuple[str, ctypes.CDLL]) -> None:
    release, theirs = amd
    found = dict(compared(ours, theirs))
    if release != NEWEST:
        found = {name: how for name, how in found.items() if not how.startswith("AMD's header does not")}
    assert {name: how for name, how in found.items() if name not in OTHERWISE.get(release, ())} == {}

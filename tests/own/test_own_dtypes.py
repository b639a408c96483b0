"""Dtypes that a port declares for its own kernels: floats of 8 bits, and two numbers in a byte."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from conformance.cases import cases_for, launch_for
from conformance.cases.launch import Buffer
from conformance.cases.specials import special
from conformance.cases.values import scalar
from conformance.dtypes import DTYPES, FLOATS, DeclaredDType, declare, dtype
from conformance.port.config import SourceError, read_config
from conformance.session.setup import specs_from
from conformance.settings import Settings
from conformance.spec import SpecError
from conformance.spec.load import Specs
from conformance.verdict.compare import is_nan, ordinals
from tests.commands import answer
from tests.own.ports import OwnPort, changed

DECLARATION = """\
kernels = "kernels"

[own]
specs = "parity/specs"
reference = "parity/reference"
families = "parity/families"
dtypes = "parity/dtypes.yaml"
"""

DTYPE_FILE = """\
dtypes:
  f8e5m2: {numpy: float8_e5m2, c: [__hip_fp8_e5m2, fp8_e5m2]}
  f8fnuz: {numpy: float8_e4m3fnuz, c: [__hip_fp8_e4m3_fnuz]}
  i4x2: {numpy: uint8, c: [int4_pair]}
  i8: {numpy: int8, c: [int8_t, signed char]}
"""

FAMILY = """\
family: each
title: a thread for each element
dims: [n]
params:
  n: {role: size, value: n}
  inp: {role: input}
  out: {role: output}
grid: ["ceildiv(n, 64)"]
block: [64]
cases:
- shape=[256],values=exhaustive
- shape=[5],values=wide
"""

UNPACKING = """\
family: unpacking
title: two elements for each byte
dims: [n]
params:
  n: {role: size, value: n}
  inp: {role: input}
  out: {role: output, shape: [2 * n]}
grid: ["ceildiv(n, 64)"]
block: [64]
cases:
- shape=[256],values=exhaustive
"""

SPEC = """\
module: narrow
title: elements of few bits
families:
- family: negate
  launch: each
  name: negate_{dtype}
  axes:
    dtype: [f8e5m2, f8fnuz]
  params:
    n: scalar size_t
    inp: in {dtype}*
    out: out {dtype}*
  tolerance:
  - {ulp: 0, library_ulp: 0, source: "a bit is changed"}
- family: unpack
  launch: unpacking
  name: unpack_i4
  params:
    n: scalar size_t
    inp: in i4x2*
    out: out i8*
  tolerance:
  - {ulp: 0, library_ulp: 0, source: "integers"}
"""

REFERENCE = '''\
"""Elements of few bits."""

import numpy as np


def negate(variant, library_ulp, *, n, inp, out):
    """-inp; a NaN stays one."""
    return {"out": (-inp[:n].astype(np.float32)).astype(out.dtype)}


def unpack(variant, library_ulp, *, n, inp, out):
    """Both signed numbers of each byte, the low four bits first."""
    both = np.stack([inp[:n] << 4, inp[:n] & 0xF0], axis=1)
    return {"out": (both.view(np.int8) >> 4).reshape(-1)}
'''

KERNELS = """\
#include <hip/hip_runtime.h>
#include <stdint.h>

struct fp8_e5m2 { uint8_t bits; };
struct __hip_fp8_e4m3_fnuz { uint8_t bits; };
typedef uint8_t int4_pair;

extern "C" __global__ void negate_f8e5m2(size_t n, const fp8_e5m2 *inp, fp8_e5m2 *out) {
  const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i].bits = inp[i].bits ^ 0x80;
}

extern "C" __global__ void negate_f8fnuz(size_t n, const __hip_fp8_e4m3_fnuz *inp, __hip_fp8_e4m3_fnuz *out) {
  const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i].bits = inp[i].bits & 0x7f ? inp[i].bits ^ 0x80 : inp[i].bits;
}

extern "C" __global__ void unpack_i4(size_t n, const int4_pair *inp, int8_t *out) {
  const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[2 * i] = int8_t(inp[i] << 4) >> 4;
  out[2 * i + 1] = int8_t(inp[i]) >> 4;
}
"""


@pytest.mark.parametrize("name", [">i4", ">u2", "i4, ,"], ids=["big-endian", "big-endian, unsigned", "no type"])
def test_what_elements_in_memory_cannot_be_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"^odd: "):
        declare([DeclaredDType("odd", name, ("odd_t",))])
    assert "odd" not in DTYPES


def test_a_name_that_becomes_another_type_has_that_type_s_values() -> None:
    for name in ("float8_e5m2", "float8_e4m3fnuz", "int8"):
        declare([DeclaredDType("odd", name, ("odd_t",))])
        assert special("odd").dtype.name == name
        assert scalar("odd", "1").dtype.name == name
    declare(())


@pytest.fixture
def narrow(port: OwnPort) -> Iterator[OwnPort]:
    for path in (port.spec, port.reference, port.kernels):
        path.unlink()
    (port.folder / "parity" / "families").mkdir()
    for name, text in (
        ("candle-parity.toml", DECLARATION),
        ("parity/dtypes.yaml", DTYPE_FILE),
        ("parity/families/each.yaml", FAMILY),
        ("parity/families/unpacking.yaml", UNPACKING),
        ("parity/specs/narrow.yaml", SPEC),
        ("parity/reference/narrow.py", REFERENCE),
        ("kernels/narrow.hip", KERNELS),
    ):
        (port.folder / name).write_text(text)
    yield port
    declare(())


def read(port: OwnPort) -> Specs:
    return specs_from(Settings(), read_config(port.declaration))


def test_their_cases_have_every_pattern(narrow: OwnPort) -> None:
    kernel = read(narrow).own["negate_f8e5m2"]
    launch = launch_for(kernel, cases_for(kernel)[0])
    inp = next(one for one in launch.args if isinstance(one, Buffer) and one.name == "inp")
    assert inp.data.dtype == ml_dtypes.float8_e5m2
    assert len(set(inp.data[inp.start :].view(np.uint8))) == 256


def test_a_port_without_the_file_has_candles_alone(narrow: OwnPort) -> None:
    before = set(DTYPES)
    read(narrow)
    assert set(DTYPES) - before == {"f8e5m2", "f8fnuz", "i4x2", "i8"}
    specs_from(Settings(), None)
    assert set(DTYPES) == before


@pytest.mark.parametrize("row", FLOATS, ids=lambda row: row.name)
def test_what_a_floats_bits_mean_is_found_out_from_its_type(row: Any) -> None:
    """As the shipped rows say it, which are written by hand."""
    try:
        declare([DeclaredDType("other", row.numpy.name, ("other",), saturates=row.floating.saturates)])
        assert dtype("other").format == row.format
    finally:
        declare(())


@pytest.mark.parametrize("name", ["float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e3m4", "float8_e4m3"])
def test_nan_and_order_of_a_declared_float_are_its_own(name: str) -> None:
    try:
        declare([DeclaredDType("other", name, ("other",))])
        row = dtype("other")
        every = np.arange(256, dtype=np.uint8).view(row.numpy)
        nan = np.isnan(every.astype(np.float32))
        assert np.array_equal(is_nan(every, row), nan)
        order = ordinals(every, row)[~nan]
        numbers = every[~nan].astype(np.float32)
        assert np.all(np.diff(numbers[np.argsort(order)]) >= 0)
    finally:
        declare(())


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("float8_e5m2", "float8_e5m3", "dtypes.yaml:2: dtype 'f8e5m2': neither numpy nor ml_dtypes has a type"),
        ("uint8", "int4", "dtypes.yaml:4: dtype 'i4x2': elements of int4 cannot be compared; expected an integer of 8"),
        ("float8_e4m3fnuz", "float8_e8m0fnu", "elements of float8_e8m0fnu cannot be compared"),
        ("  i8:", "  f32:", "dtypes.yaml:5: dtype 'f32': is a dtype of candle-parity's; give the port's another name"),
        ("numpy: int8", "nunpy: int8", "did you mean numpy?"),
        ("i4x2:", "i4x3:", "narrow.yaml:20: parameter 'inp' has the unknown dtype 'i4x2'"),
    ],
)
def test_a_row_that_is_none_is_told_with_its_line(narrow: OwnPort, before: str, after: str, words: str) -> None:
    changed(Path("parity/dtypes.yaml"), before, after)
    with pytest.raises(SpecError) as caught:
        read(narrow)
    assert words in str(caught.value)


def test_the_digest_is_over_them(narrow: OwnPort) -> None:
    before = read(narrow).own_digest
    changed(Path("parity/dtypes.yaml"), "float8_e4m3fnuz", "float8_e5m2fnuz")
    assert read(narrow).own_digest != before


def test_a_key_of_own_that_there_is_not_is_said(narrow: OwnPort) -> None:
    changed(narrow.declaration, "dtypes =", "dtype =")
    with pytest.raises(SourceError, match="unknown key 'dtype'; expected one of specs, reference, families, dtypes"):
        read_config(narrow.declaration)


@pytest.mark.slow("compiles a file and judges three kernels")
def test_kernels_of_declared_dtypes_are_judged(narrow: OwnPort, capfd: pytest.CaptureFixture[str]) -> None:
    words = ("--runtime", "cpu", "-j", "1", "--own", "negate_*", "unpack_i4")
    said = answer(capfd, "run", *words)
    assert said.code == 0, said.out
    assert answer(capfd, "check", "--partial").code == 0
    assert answer(capfd, "record", *words[:5], "traces", *words[5:]).code == 0
    assert answer(capfd, "replay", "traces", *words[:5]).code == 0


@pytest.mark.slow("compiles a file and judges three kernels")
def test_their_mistakes_fail(narrow: OwnPort, capfd: pytest.CaptureFixture[str]) -> None:
    source = narrow.folder / "kernels" / "narrow.hip"
    changed(source, "inp[i].bits & 0x7f ? inp[i].bits ^ 0x80 : inp[i].bits", "inp[i].bits ^ 0x80")  # 0 becomes NaN
    changed(source, "const fp8_e5m2 *inp", "const __hip_fp8_e4m3_fnuz *inp")
    changed(source, "int8_t(inp[i]) >> 4", "inp[i] >> 4")  # without the sign
    words = ("run", "--runtime", "cpu", "-j", "1", "--own", "negate_*", "unpack_i4", "--json", "r.json")
    assert answer(capfd, *words).code == 1
    rows = {row["name"]: row for row in json.loads(Path("r.json").read_text())["own"]}
    assert {name: row["status"] for name, row in rows.items()} == {
        "negate_f8e5m2": "signature",
        "negate_f8fnuz": "fail",
        "unpack_i4": "fail",
    }
    assert "number" in str(rows["negate_f8fnuz"]["observations"])

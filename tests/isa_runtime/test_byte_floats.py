"""Floats of 8 bits to floats and back, of the formats that each target has, against ml_dtypes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.isa_runtime.instructions.wave import LANES, OUT, A, B, executed
from tests.isa_runtime.instructions.words import Target, v
from tests.isa_runtime.machine import Machine
from tests.isa_runtime.test_vector_instructions import same

FNUZ = {"fp8": ml_dtypes.float8_e4m3fnuz, "bf8": ml_dtypes.float8_e5m2fnuz}
OCP = {"fp8": ml_dtypes.float8_e4m3fn, "bf8": ml_dtypes.float8_e5m2}
FORMATS = {"gfx942": FNUZ, "gfx950": OCP, "gfx1201": OCP}
BYTES = np.arange(256, dtype=np.uint32).reshape(4, LANES)
PAIRS = (BYTES[0] | BYTES[1] << 8, BYTES[2] | BYTES[3] << 8)
"""Every byte, by lane: two in a word."""
on_targets = pytest.mark.parametrize("target", FORMATS)
of_formats = pytest.mark.parametrize("name", ["fp8", "bf8"])


@of_formats
@on_targets
@pytest.mark.executes("v_cvt_f32_fp8", "v_cvt_f32_bf8", "v_cvt_pk_f32_fp8", "v_cvt_pk_f32_bf8")
def test_bytes_become_floats(machine: Machine, target: str, name: str) -> None:
    to = Target(target)
    values = BYTES.astype(np.uint8).view(FORMATS[target][name]).astype(np.float32)
    for each in ("fp8", "bf8"):
        one = [*to.vop1(f"v_cvt_f32_{each}", OUT, v(A)), *to.vop1(f"v_cvt_f32_{each}", OUT + 1, v(B))]
        two = [*to.vop1(f"v_cvt_pk_f32_{each}", OUT, v(A)), *to.vop1(f"v_cvt_pk_f32_{each}", OUT + 2, v(B))]
        got = executed(machine, to, [*two, *to.settle()], *PAIRS).view(np.float32)
        first = executed(machine, to, [*one, *to.settle()], *PAIRS).view(np.float32)
        if each == name:
            same(got, values.T)
            same(np.ascontiguousarray(first[:, :2]), np.ascontiguousarray(values[::2].T))


@of_formats
def test_rdna_4_chooses_a_byte_or_a_pair(machine: Machine, name: str) -> None:
    to, word = Target("gfx1201"), PAIRS[0] << 16
    chosen = {2: 1, 3: 3}  # the byte by the bits of op_sel
    words = [
        word
        for place, byte in enumerate(chosen)
        for word in to.vop3(f"v_cvt_f32_{name}", v(A), out=OUT + place, modifiers=chosen[byte] << 3)
    ]
    words += to.vop3(f"v_cvt_pk_f32_{name}", v(A), out=OUT + 2, modifiers=1 << 3)
    got = executed(machine, to, words, word).view(np.float32)
    values = BYTES[:2].astype(np.uint8).view(OCP[name]).astype(np.float32)
    same(got, np.concatenate([values, values]).T)


@on_targets
@pytest.mark.executes("v_cvt_pk_fp8_f32", "v_cvt_pk_bf8_f32")
def test_floats_become_bytes_in_one_half(machine: Machine, target: str) -> None:
    to, random = Target(target), np.random.default_rng(4)
    numbers = np.ldexp(random.uniform(-2, 2, (2, LANES)), random.integers(-20, 17, (2, LANES))).astype(np.float32)
    numbers[0, :8] = [0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e-30, 2**-17]
    for name, kind in FORMATS[target].items():
        words = to.vop3(f"v_cvt_pk_{name}_f32", v(A), v(B))
        words += to.vop3(f"v_cvt_pk_{name}_f32", v(B), v(A), modifiers=8 << 3)  # op_sel: into the upper half
        got = executed(machine, to, [*words, *to.settle()], *(row.view(np.uint32) for row in numbers))
        found = np.ascontiguousarray(got[:, :1]).view(kind).astype(np.float32)
        with np.errstate(all="ignore"):
            expected = numbers[[0, 1, 1, 0]].astype(kind).astype(np.float32).T
        same(found, np.ascontiguousarray(expected))

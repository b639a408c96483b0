"""A port whose own kernels, over rows and by indices, are described without Python beyond the formulas."""

from __future__ import annotations

from tests.own.ports import OwnPort

ROWS_FAMILY = """\
family: rows
title: a block for each row
dims: [rows, cols]
params:
  inp: {role: input}
  scale: {role: input, shape: [cols]}
  out: {role: output}
  cols: {role: size, value: cols}
  least: {role: scalar, values: ["0.5", "0", "-2"]}
grid: [rows]
block: [64]
shared: block_x * 4
cases:
- shape=[3,5],values=unit
- shape=[2,64],values=large
- shape=[1,333],values=unit
"""

PICK_FAMILY = """\
family: pick
title: rows chosen by ids
dims: [rows, cols]
numbers: {n: 6}
params:
  ids: {role: indices, shape: [n], below: rows}
  inp: {role: input}
  out: {role: output, shape: [n, cols]}
  n: {role: size, value: n}
  cols: {role: size, value: cols}
grid: ["ceildiv(n * cols, 128)"]
block: [128]
cases:
- shape=[5,7],values=unit
- shape=[40,3],values=unit,n=100
"""

SPEC = """\
module: rowwise
title: operations over rows
families:
- family: row_total
  launch: rows
  name: row_total_{dtype}
  axes:
    dtype: [f32]
  params:
    inp: in {dtype}*
    scale: in {dtype}*
    out: out {dtype}*
    cols: scalar u32
    least: scalar {dtype}
  tolerance:
  - {ulp: 0, library_ulp: 0, source: "one product, rounded once"}
- family: pick_rows
  launch: pick
  name: pick_rows_{dtype}
  axes:
    dtype: [f32]
  params:
    ids: in u32*
    inp: in {dtype}*
    out: out {dtype}*
    n: scalar u32
    cols: scalar u32
  tolerance:
  - {ulp: 0, library_ulp: 0, source: "elements are moved"}
"""

REFERENCE = '''\
"""Operations over rows."""

import numpy as np


def row_total(variant, library_ulp, *, inp, scale, out, cols, least):
    """The larger of inp * scale and least; scale has an element for each column."""
    rows = inp[: inp.size // cols * cols].reshape(-1, cols)
    return {"out": np.fmax(rows * scale[:cols], least)}


def pick_rows(variant, library_ulp, *, ids, inp, out, n, cols):
    """The rows of inp that ids name."""
    return {"out": inp[: inp.size // cols * cols].reshape(-1, cols)[ids[:n]]}
'''

KERNELS = """\
#include <hip/hip_runtime.h>

extern "C" __global__ void row_total_f32(const float *inp, const float *scale, float *out, unsigned cols, float least) {
  for (unsigned col = threadIdx.x; col < cols; col += blockDim.x) {
    const unsigned i = blockIdx.x * cols + col;
    out[i] = fmaxf(inp[i] * scale[col], least);
  }
}

extern "C" __global__ void pick_rows_f32(const unsigned *ids, const float *inp, float *out, unsigned n, unsigned cols) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n * cols) out[i] = inp[ids[i / cols] * cols + i % cols];
}
"""


def described(port: OwnPort) -> OwnPort:
    """``port`` with these kernels in place of its others."""
    for path in (port.spec, port.reference, port.kernels):
        path.unlink()
    return with_described(port)


def with_described(port: OwnPort) -> OwnPort:
    """``port`` with these kernels beside its others."""
    port.declaration.write_text(port.declaration.read_text() + 'families = "parity/families"\n')
    families = port.folder / "parity" / "families"
    families.mkdir()
    for path, text in (
        (families / "rows.yaml", ROWS_FAMILY),
        (families / "pick.yaml", PICK_FAMILY),
        (port.spec.with_name("rowwise.yaml"), SPEC),
        (port.reference.with_name("rowwise.py"), REFERENCE),
        (port.kernels.with_name("rowwise.hip"), KERNELS),
    ):
        path.write_text(text)
    return port

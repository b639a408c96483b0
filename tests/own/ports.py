"""A port with kernels of its own, written into a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

DECLARATION = """\
kernels = "kernels"

[own]
specs = "parity/specs"
reference = "parity/reference"
"""

SPEC = """\
module: fused
title: fused operations
families:
- family: add_relu
  launch: binary
  name: fadd_relu_{dtype}
  variant: {op: add}
  axes:
    dtype: [f32, f64]
  params:
    numel: scalar size_t
    num_dims: scalar size_t
    dims_and_strides: in size_t*
    lhs: in {dtype}*
    rhs: in {dtype}*
    out: out {dtype}*
  tolerance:
  - {ulp: 0, library_ulp: 0, source: "one addition, rounded once"}
"""

REFERENCE = '''\
"""Fused operations."""

import numpy as np

from reference.strided import layout, read


def add_relu(variant, library_ulp, *, numel, num_dims, dims_and_strides, lhs, rhs, out):
    """max(lhs + rhs, 0); NaN stays NaN."""
    shape = layout(dims_and_strides, num_dims, operands=2)
    dims, (left, right) = (None, (None, None)) if shape is None else shape
    total = read(lhs, numel, dims, left) + read(rhs, numel, dims, right)
    return {"out": np.where(total < 0, out.dtype.type(0), total)}
'''

KERNELS = """\
#include <hip/hip_runtime.h>

template <typename T>
__device__ void add_relu(size_t numel, size_t num_dims, const size_t *info, const T *lhs, const T *rhs, T *out) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < numel; i += blockDim.x * gridDim.x) {
    size_t rest = i, l = info ? 0 : i, r = l;
    for (size_t d = num_dims; info && d-- > 0; rest /= info[d]) {
      l += rest % info[d] * info[num_dims + d];
      r += rest % info[d] * info[2 * num_dims + d];
    }
    const T total = lhs[l] + rhs[r];
    out[i] = total < 0 ? (T)0 : total;
  }
}

extern "C" __global__ void fadd_relu_f32(size_t numel, size_t num_dims, const size_t *dims_and_strides,
                                         const float *lhs, const float *rhs, float *out) {
  add_relu(numel, num_dims, dims_and_strides, lhs, rhs, out);
}

extern "C" __global__ void fadd_relu_f64(size_t numel, size_t num_dims, const size_t *dims_and_strides,
                                         const double *lhs, const double *rhs, double *out) {
  add_relu(numel, num_dims, dims_and_strides, lhs, rhs, out);
}
"""


@dataclass(frozen=True)
class OwnPort:
    """The folder of a port, with the files that describe its own kernels."""

    folder: Path

    @classmethod
    def written(cls, folder: Path) -> OwnPort:
        port = cls(folder)
        for path, text in (
            (port.declaration, DECLARATION),
            (port.spec, SPEC),
            (port.reference, REFERENCE),
            (port.kernels, KERNELS),
        ):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return port

    @property
    def declaration(self) -> Path:
        return self.folder / "candle-parity.toml"

    @property
    def spec(self) -> Path:
        return self.folder / "parity" / "specs" / "fused.yaml"

    @property
    def reference(self) -> Path:
        return self.folder / "parity" / "reference" / "fused.py"

    @property
    def kernels(self) -> Path:
        return self.folder / "kernels" / "fused.hip"


def changed(file: Path, before: str, after: str) -> int:
    """Put ``after`` in the place of ``before`` in ``file``; the line of ``before``."""
    text = file.read_text()
    assert text.count(before) >= 1, before
    file.write_text(text.replace(before, after))
    return text[: text.index(before)].count("\n") + 1

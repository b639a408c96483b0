"""A port whose own operation is a launcher: a host function that launches two kernels on its stream."""

from __future__ import annotations

from tests.own.ports import OwnPort

LAUNCHER = "launch_scaled_add_f32"

FAMILY = """\
family: linked
title: host functions of two vectors, with room between their kernels
dims: [n]
params:
  lhs: {role: input}
  rhs: {role: input}
  scaled: {role: scratch}
  out: {role: output}
  n: {role: size, value: n}
  alpha: {role: scalar, values: ["1.5", "0", "-2"]}
  stream: {role: stream}
cases:
- shape=[1],values=unit
- shape=[300],values=unit
- shape=[77],values=special
"""

SPEC = """\
module: linked
title: operations by host functions
families:
- family: scaled_add
  entry: launcher
  launch: linked
  name: launch_scaled_add_{dtype}
  axes:
    dtype: [f32]
  params:
    lhs: in {dtype}*
    rhs: in {dtype}*
    scaled: scratch {dtype}*
    out: out {dtype}*
    n: scalar i32
    alpha: scalar {dtype}
    stream: stream void*
  tolerance:
  - {ulp: 0, library_ulp: 0, source: "a product and a sum, each rounded"}
"""

REFERENCE = '''\
"""Operations by host functions."""


def scaled_add(variant, library_ulp, *, lhs, rhs, scaled, out, n, alpha):
    """alpha * lhs + rhs, the product rounded first."""
    return {"out": lhs[:n] * alpha + rhs[:n]}
'''

SOURCE = """\
#include <hip/hip_runtime.h>

__global__ void scale(const float *lhs, float *scaled, int n, float alpha) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) scaled[i] = alpha * lhs[i];
}

__global__ void add(const float *scaled, const float *rhs, float *out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = scaled[i] + rhs[i];
}

extern "C" void launch_scaled_add_f32(const float *lhs, const float *rhs, float *scaled, float *out, int n,
                                      float alpha, void *stream) {
  const hipStream_t s = static_cast<hipStream_t>(stream);
  const int blocks = (n + 127) / 128;
  scale<<<blocks, 128, 0, s>>>(lhs, scaled, n, alpha);
  add<<<blocks, 128, 0, s>>>(scaled, rhs, out, n);
}
"""


def with_launcher(port: OwnPort) -> OwnPort:
    """``port`` with this launcher beside its kernels."""
    port.declaration.write_text(port.declaration.read_text() + 'families = "parity/families"\n')
    families = port.folder / "parity" / "families"
    families.mkdir()
    for path, text in (
        (families / "linked.yaml", FAMILY),
        (port.spec.with_name("linked.yaml"), SPEC),
        (port.reference.with_name("linked.py"), REFERENCE),
        (port.kernels.with_name("linked.hip"), SOURCE),
    ):
        path.write_text(text)
    return port

"""A small checkout of our own, in the layout of Candle's, and the spec that fits it."""

from __future__ import annotations

from pathlib import Path

LIBRARY = "#[repr(u32)]\npub enum Id {\n    Toy,\n}\n\npub const ALL_IDS: [Id; 1] = [Id::Toy];\n"

SOURCE = """\
#include "cuda_fp16.h"
#include "helpers.cuh"

#define DOUBLE(T, TAG) \\
  extern "C" __global__ void dbl_##TAG(const size_t numel, const T *inp, T *out) { out[0] = inp[0] + inp[0]; }

#if __CUDA_ARCH__ >= 530
DOUBLE(__half, f16)
#endif
DOUBLE(float, f32)
DOUBLE(double, f64)
extern "C" __global__ void
fold(const void *vx, real *y, const int k) {
  y[0] = k;
}
"""

HELPERS = "typedef float real;\n"

SPEC = """\
# a comment that stays
module: toy
title: Doubling
source: toy.cu
source_lines: 15

families:
  - family: doubling
    name: "dbl_{dtype}"
    params:
      numel: scalar size_t
      inp: in {dtype}*
      out: out {dtype}*
    row:
      axis: dtype
      lines: {f16: 8, f32: 10,   f64: 11} # another
    tolerance: &exact
      - {ulp: 0, library_ulp: 0, source: exact}

  - family: fold
    name: "fo{op}"
    variant: {dtype: f32}
    params:
      vx: in void*
      y: out f32*
      k: scalar int
    table:
      rows: op
      columns: {qtype: [q4, q8]}
      lines:
        ld: [  13,   ~] # aligned
    tolerance: *exact
"""


def make_checkout(folder: Path, source: str = SOURCE, library: str = LIBRARY) -> Path:
    """A checkout in ``folder``; its root."""
    sources = folder / "candle-kernels" / "src"
    sources.mkdir(parents=True)
    (sources / "lib.rs").write_text(library)
    (sources / "helpers.cuh").write_text(HELPERS)
    (sources / "toy.cu").write_text(source)
    return folder


def make_specs(folder: Path, text: str = SPEC) -> Path:
    """A folder of specs for ``SOURCE``."""
    folder.mkdir()
    (folder / "toy.yaml").write_text(text)
    return folder

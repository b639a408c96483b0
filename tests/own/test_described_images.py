"""Kernels over images in NCHW, described without Python beyond their formulas."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.cases import cases_for, launch_for
from conformance.cases.launch import Buffer
from conformance.port.config import read_config
from conformance.session.setup import specs_from
from conformance.settings import Settings
from tests.commands import answer
from tests.own.ports import OwnPort, changed

SHUFFLE = """\
family: shuffle
title: an element of the output for each thread, of blocks of r by r pixels that lie in channels
dims: [n, c, h, w]
numbers: {r: 2}
params:
  inp: {role: input, shape: [n, c * r * r, h, w]}
  out: {role: output, shape: [n, c, h * r, w * r]}
  n: {role: size, value: n}
  c: {role: size, value: c}
  h: {role: size, value: h}
  w: {role: size, value: w}
  r: {role: size, value: r}
grid: ["ceildiv(n * c * h * r * w * r, 128)"]
block: [128]
cases:
- shape=[1,1,2,3],values=unit
- shape=[2,3,5,4],values=unit
- shape=[2,1,7,3],values=large,r=3
"""

RESIZE = """\
family: resize
title: a thread for each pixel of the output, from an input of any layout
dims: [n, c, h, w]
numbers: {out_h: 4, out_w: 5}
params:
  info: {role: info, of: [inp]}
  inp: {role: input}
  out: {role: output, shape: [n, c, out_h, out_w]}
  n: {role: size, value: n}
  c: {role: size, value: c}
  h: {role: size, value: h}
  w: {role: size, value: w}
  out_h: {role: size, value: out_h}
  out_w: {role: size, value: out_w}
grid: ["ceildiv(out_w, 8)", "ceildiv(out_h, 8)", n * c]
block: [8, 8]
cases:
- shape=[1,2,3,7],values=unit,info=given
- shape=[2,3,9,6],values=unit,out_h=5,out_w=11
- shape=[2,3,4,5],values=large,layout=transposed,out_h=9
- shape=[2,2,6,6],values=unit,layout=narrowed
"""

ACCUMULATE = """\
family: accumulate
title: a thread for each element, which is written over
dims: [n]
params:
  total: {role: inout}
  inp: {role: input}
  n: {role: size, value: n}
grid: ["ceildiv(n, 64)"]
block: [64]
cases:
- shape=[100],values=unit
"""

SPEC = """\
module: pictures
title: operations over images
families:
- family: pixel_shuffle
  launch: shuffle
  name: pixel_shuffle_{dtype}
  axes:
    dtype: [f32, u8]
  params:
    inp: in {dtype}*
    out: out {dtype}*
    n: scalar u32
    c: scalar u32
    h: scalar u32
    w: scalar u32
    r: scalar u32
  tolerance:
  - {ulp: 0, library_ulp: 0, source: "elements are moved"}
- family: bilinear
  launch: resize
  name: bilinear_{dtype}
  axes:
    dtype: [f32]
  params:
    info: in size_t*
    inp: in {dtype}*
    out: out {dtype}*
    n: scalar u32
    c: scalar u32
    h: scalar u32
    w: scalar u32
    out_h: scalar u32
    out_w: scalar u32
  tolerance:
  - {ulp: 1, library_ulp: 0, source: "computed in float64 and rounded once, of which a compiler may fuse steps"}
- family: accumulate
  launch: accumulate
  name: accumulate_{dtype}
  axes:
    dtype: [f32]
  params:
    total: inout {dtype}*
    inp: in {dtype}*
    n: scalar u32
  tolerance:
  - {ulp: 0, library_ulp: 0, source: "one addition, rounded once"}
"""

REFERENCE = '''\
"""Operations over images in NCHW."""

import numpy as np

from reference.strided import layout, read


def pixel_shuffle(variant, library_ulp, *, inp, out, n, c, h, w, r):
    """Channels of blocks of r by r pixels become the blocks."""
    n, c, h, w, r = map(int, (n, c, h, w, r))
    blocks = inp[: n * c * r * r * h * w].reshape(n, c, r, r, h, w)
    return {"out": blocks.transpose(0, 1, 4, 2, 5, 3)}


def bilinear(variant, library_ulp, *, info, inp, out, n, c, h, w, out_h, out_w):
    """Between the four pixels around the position (i + 0.5) * h / out_h - 0.5, clamped to the image."""
    shape = layout(info, 4)
    dims, (strides,) = (None, (None,)) if shape is None else shape
    image = read(inp, n * c * h * w, dims, strides).reshape(n, c, h, w).astype(np.float64)
    top, bottom, down = _positions(int(h), int(out_h))
    left, right, along = _positions(int(w), int(out_w))
    upper = image[:, :, top][..., left] * (1 - along) + image[:, :, top][..., right] * along
    lower = image[:, :, bottom][..., left] * (1 - along) + image[:, :, bottom][..., right] * along
    down = down[:, None]
    return {"out": (upper * (1 - down) + lower * down).astype(out.dtype)}


def _positions(size, count):
    at = np.clip((np.arange(count) + 0.5) * size / count - 0.5, 0, size - 1)
    first = at.astype(np.int64)
    return first, np.minimum(first + 1, size - 1), at - first


def accumulate(variant, library_ulp, *, total, inp, n):
    """total + inp."""
    return {"total": total[:n] + inp[:n]}
'''

KERNELS = """\
#include <hip/hip_runtime.h>

template <typename T>
__device__ void shuffle(const T *inp, T *out, unsigned n, unsigned c, unsigned h, unsigned w, unsigned r) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * c * h * r * w * r) return;
  const unsigned x = i % (w * r), y = i / (w * r) % (h * r), plane = i / (w * r) / (h * r);
  const unsigned channel = plane * r * r + y % r * r + x % r;
  out[i] = inp[(channel * h + y / r) * w + x / r];
}

extern "C" __global__ void pixel_shuffle_f32(const float *inp, float *out, unsigned n, unsigned c, unsigned h,
                                             unsigned w, unsigned r) {
  shuffle(inp, out, n, c, h, w, r);
}

extern "C" __global__ void pixel_shuffle_u8(const unsigned char *inp, unsigned char *out, unsigned n, unsigned c,
                                            unsigned h, unsigned w, unsigned r) {
  shuffle(inp, out, n, c, h, w, r);
}

__device__ double position(unsigned i, unsigned size, unsigned count) {
  const double at = (i + 0.5) * size / count - 0.5;
  return at < 0 ? 0 : at > size - 1 ? size - 1 : at;
}

extern "C" __global__ void bilinear_f32(const size_t *info, const float *inp, float *out, unsigned n, unsigned c,
                                        unsigned h, unsigned w, unsigned out_h, unsigned out_w) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= out_w || y >= out_h) return;
  const size_t strides[] = {(size_t)c * h * w, (size_t)h * w, w, 1};
  const size_t *by = info ? info + 4 : strides;
  const float *image = inp + blockIdx.z / c * by[0] + blockIdx.z % c * by[1];
  const double down = position(y, h, out_h), along = position(x, w, out_w);
  const unsigned top = down, left = along;
  const unsigned bottom = top + 1 < h ? top + 1 : top, right = left + 1 < w ? left + 1 : left;
  const double dy = down - top, dx = along - left;
  const double upper = image[top * by[2] + left * by[3]] * (1 - dx) + image[top * by[2] + right * by[3]] * dx;
  const double lower = image[bottom * by[2] + left * by[3]] * (1 - dx) + image[bottom * by[2] + right * by[3]] * dx;
  out[((size_t)blockIdx.z * out_h + y) * out_w + x] = upper * (1 - dy) + lower * dy;
}

extern "C" __global__ void accumulate_f32(float *total, const float *inp, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) total[i] += inp[i];
}
"""

NAMES = ("pixel_shuffle_*", "bilinear_*", "accumulate_*")


@pytest.fixture
def pictures(port: OwnPort) -> OwnPort:
    for path in (port.spec, port.reference, port.kernels):
        path.unlink()
    port.declaration.write_text(port.declaration.read_text() + 'families = "parity/families"\n')
    (port.folder / "parity" / "families").mkdir()
    for name, text in (
        ("parity/families/shuffle.yaml", SHUFFLE),
        ("parity/families/resize.yaml", RESIZE),
        ("parity/families/accumulate.yaml", ACCUMULATE),
        ("parity/specs/pictures.yaml", SPEC),
        ("parity/reference/pictures.py", REFERENCE),
        ("kernels/pictures.hip", KERNELS),
    ):
        (port.folder / name).write_text(text)
    return port


def test_the_sizes_of_an_image_are_expressions(pictures: OwnPort) -> None:
    kernels = specs_from(Settings(), read_config(pictures.declaration)).own
    kernel = kernels["pixel_shuffle_f32"]
    launch = launch_for(kernel, cases_for(kernel)[1])
    assert launch.grid == (-(-2 * 3 * 10 * 8 // 128), 1, 1)
    inp = next(one for one in launch.args if isinstance(one, Buffer) and one.name == "inp")
    assert inp.data.size == 2 * 12 * 5 * 4
    kernel = kernels["bilinear_f32"]
    launch = launch_for(kernel, cases_for(kernel)[1])
    assert (launch.grid, launch.block) == ((2, 1, 6), (8, 8, 1))


@pytest.mark.slow("compiles a file and judges four kernels")
def test_kernels_over_images_are_judged(pictures: OwnPort, capfd: pytest.CaptureFixture[str]) -> None:
    said = answer(capfd, "run", "--runtime", "cpu", "-j", "1", "--own", *NAMES)
    assert said.code == 0, said.out
    assert "4 of 4 selected own kernels pass (none is Candle's)" in said.out


@pytest.mark.slow("compiles a file and judges four kernels")
def test_their_mistakes_fail(pictures: OwnPort, capfd: pytest.CaptureFixture[str]) -> None:
    source = pictures.folder / "kernels" / "pictures.hip"
    changed(source, "y % r * r + x % r", "x % r * r + y % r")
    changed(source, "info ? info + 4 : strides", "strides")
    changed(source, "total[i] += inp[i]", "total[i] = inp[i]")
    said = answer(capfd, "run", "--runtime", "cpu", "-j", "1", "--own", *NAMES, "--json", "r.json")
    assert said.code == 1
    rows = json.loads(Path("r.json").read_text())["own"]
    assert {row["name"]: row["status"] for row in rows} == {
        "pixel_shuffle_f32": "fail",
        "pixel_shuffle_u8": "fail",
        "bilinear_f32": "fail",
        "accumulate_f32": "fail",
    }
    assert "1 own kernel: Strides are ignored" in said.out

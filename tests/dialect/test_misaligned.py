"""Vectors at addresses that are not aligned: AMD GPUs access them, NVIDIA's stop."""

from __future__ import annotations

from pathlib import Path

import pytest
from judging import Run

VECTORS = """
template <class Vector, class T>
__device__ void copy(size_t numel, size_t dims, const size_t *info, const T *inp, T *out) {
  const size_t i = blockIdx.x * blockDim.x + threadIdx.x, many = sizeof(Vector) / sizeof(T);
  if (info) {  // strided: element by element
    if (i >= numel) return;
    size_t left = i, at = 0;
    for (size_t k = dims; k--;) {
      at += left % info[k] * info[dims + k];
      left /= info[k];
    }
    out[i] = inp[at];
    return;
  }
  const size_t first = i * many;
  const size_t addresses = reinterpret_cast<size_t>(inp + first) | reinterpret_cast<size_t>(out + first);
  const bool aligned = addresses % sizeof(Vector) == 0;
  (void)aligned;
  if (first + many <= numel && MAY_USE_VECTORS) {
    *reinterpret_cast<Vector *>(out + first) = *reinterpret_cast<const Vector *>(inp + first);
  } else {
    for (size_t k = first; k < first + many && k < numel; ++k) out[k] = inp[k];
  }
}
#define COPY(name, T, Vector)                                                                                         \\
  extern "C" __global__ void ucopy_##name(size_t numel, size_t dims, const size_t *info, const T *inp, T *out) { \\
    copy<Vector>(numel, dims, info, inp, out);                                                                        \\
  }
COPY(f32, float, float4)
COPY(f64, double, double2)
COPY(u32, unsigned, uint2)
COPY(u8, unsigned char, uchar4)
COPY(f16, __half, __half2)
"""
# What a compiler concludes from a type's alignment, in other ways than by a copy of the whole.
PROMISES = """
struct alignas(16) Four { float x[4]; };
__device__ float4 negated(const float4 &v) { return make_float4(-v.x, -v.y, -v.z, -v.w); }
__device__ Four squared(const Four *p) {
  Four r;
  for (int k = 0; k < 4; ++k) r.x[k] = p->x[k] * p->x[k];
  return r;
}
#define FOURS(name, T, EACH, ALL)                                                                                \
  extern "C" __global__ void name(size_t numel, size_t dims, const size_t *info, const T *inp, T *out) {    \
    const size_t first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;                                            \
    if (first + 4 <= numel) {                                                                                    \
      ALL;                                                                                                       \
    } else {                                                                                                     \
      for (size_t k = first; k < numel; ++k) out[k] = EACH(inp[k]);                                              \
    }                                                                                                            \
  }
__device__ float negative(float x) { return -x; }
__device__ float square(float x) { return x * x; }
FOURS(uneg_f32, float, negative,
      *reinterpret_cast<float4 *>(out + first) = negated(*reinterpret_cast<const float4 *>(inp + first)))
FOURS(usqr_f32, float, square,
      *reinterpret_cast<Four *>(out + first) = squared(reinterpret_cast<const Four *>(inp + first)))
FOURS(uabs_f32, float, fabsf,
      const float *from = static_cast<const float *>(__builtin_assume_aligned(inp + first, 16));
      for (int k = 0; k < 4; ++k) out[first + k] = fabsf(from[k]))
"""
BYTES = {"ucopy_f32": 16, "ucopy_f64": 16, "ucopy_u32": 8, "ucopy_u8": 4, "ucopy_f16": 4}
HIP = ("unary.hip", "#include <hip/hip_runtime.h>\n#include <hip/hip_fp16.h>\n")
CUDA = ("unary.cu", "#include <cuda_fp16.h>\n")


def judged(run: Run, folder: Path, dialect: tuple[str, str], may_use_vectors: str) -> dict[str, dict[str, object]]:
    file, head = dialect
    folder.mkdir(exist_ok=True)
    (folder / file).write_text(head + VECTORS.replace("MAY_USE_VECTORS", may_use_vectors))
    rows = run(folder, *(f"{name}(start=1;*)" for name in BYTES), "--order", "forward").rows
    return {name: rows[name] for name in BYTES}


@pytest.mark.slow("compiles and judges a port")
def test_hip_may_access_them_and_the_record_says_so(run: Run, tmp_path: Path) -> None:
    rows = judged(run, tmp_path / "port", HIP, "true")
    assert {name: row["status"] for name, row in rows.items()} == dict.fromkeys(BYTES, "pass")
    for name, size in BYTES.items():
        expected = f" {size} bytes at an address that is no multiple of {size}"
        assert str(rows[name]["misaligned"]).endswith(expected), rows[name]["misaligned"]
        assert str(rows[name]["misaligned"]).startswith(f"{name}(shape=")


@pytest.mark.slow("compiles and judges a port")
def test_cuda_may_not(run: Run, tmp_path: Path) -> None:
    rows = judged(run, tmp_path / "port", CUDA, "true")
    assert {name: row["status"] for name, row in rows.items()} == dict.fromkeys(BYTES, "crash")
    why = rows["ucopy_u8"]["failures"][0]["why"]  # type: ignore[index]
    assert "reads 4 bytes at an address that is no multiple of 4, which NVIDIA GPUs stop at (error 716)" in why


@pytest.mark.slow("compiles and judges a port")
@pytest.mark.parametrize("dialect", [HIP, CUDA], ids=["hip", "cuda"])
def test_what_looks_before_it_uses_vectors_is_right_in_both(run: Run, tmp_path: Path, dialect: tuple[str, str]) -> None:
    rows = judged(run, tmp_path / "port", dialect, "aligned")
    assert {name: (row["status"], row.get("misaligned")) for name, row in rows.items()} == dict.fromkeys(
        BYTES, ("pass", None)
    )


@pytest.mark.slow("compiles and judges a port")
def test_no_conclusion_from_alignment_makes_hip_fault(run: Run, tmp_path: Path) -> None:
    (tmp_path / "port").mkdir()
    (tmp_path / "port/unary.hip").write_text(HIP[1] + PROMISES)
    names = ("uneg_f32", "usqr_f32", "uabs_f32")
    rows = run(tmp_path / "port", *(f"{name}(shape=[261],start=1;*)" for name in names), "--order", "forward").rows
    assert {name: rows[name]["status"] for name in names} == dict.fromkeys(names, "pass")
